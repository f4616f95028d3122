package verdict

import (
	"math"
	"sort"

	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// stepsFromMarks makes the step column from step marks when there is none.
func (k *track) stepsFromMarks(x *events) {
	if k.Step != nil {
		return
	}
	n := 0.
	step := make([]float64, len(k.clock))
	c := x.from(k.pid)
	for i, t := range k.clock {
		for e := c.upTo(t); e != nil; e = c.upTo(t) {
			if e.Kind != record.KindStep {
				continue
			}
			n++
			if e.Step > 0 {
				n = float64(e.Step)
			}
		}
		step[i] = n
	}
	if n > 0 {
		k.Step = step
	}
}

// trendRows are the rows in which the program worked: from the first mark
// baseline, if it made one, to the last mark released, the first experiment
// or its exit, whichever comes first.
func (p *process) trendRows(k *track) (from, to int) {
	begin, end, exit := math.Inf(-1), math.Inf(1), math.Inf(1)
	for _, e := range p.events.about(p.pid) {
		t := e.TMs / 1000
		switch {
		case e.Kind == record.KindPhase && e.Name == record.PhaseBaseline && math.IsInf(begin, -1):
			begin = t
		case e.Kind == record.KindPhase && e.Name == record.PhaseExiting:
			exit = math.Min(exit, t)
		case e.Kind == record.KindReceipt:
			end = math.Min(end, t)
		}
	}
	if p.left.last > 0 {
		end = math.Min(end, p.left.last)
	}
	from = sort.SearchFloat64s(k.clock, begin)
	to = sort.Search(len(k.clock), func(i int) bool { return k.clock[i] > math.Min(end, exit) })
	if exit < end {
		to = k.untilReturned(to)
	}
	if from >= to {
		return 0, len(k.clock)
	}
	return from, to
}

// withoutSetup leaves out rows in phases named after setting up. It keeps all
// rows when nothing else would be left.
func (k *track) withoutSetup(x *events) *track {
	keep := make([]int, 0, len(k.clock))
	setup := false
	c := x.from(k.pid)
	for i, t := range k.clock {
		for e := c.upTo(t); e != nil; e = c.upTo(t) {
			if e.Kind == record.KindPhase {
				_, setup = record.SetupWord(e.Name)
			}
		}
		if !setup {
			keep = append(keep, i)
		}
	}
	if len(keep) < trend.MinBlocks || len(keep) == len(k.clock) {
		return k
	}
	out := *k
	out.T, out.clock = pick(k.T, keep), pick(k.clock, keep)
	if k.Step != nil {
		out.Step = pick(k.Step, keep)
	}
	out.cols = make(map[string][]float64, len(k.cols))
	for n, v := range k.cols {
		out.cols[n] = pick(v, keep)
	}
	return &out
}

// fromFirstStep leaves out the rows before the first step: a program sets
// itself up there. It keeps everything when too little would be left.
func (k *track) fromFirstStep() *track {
	if k.Step == nil {
		return k
	}
	i := 0
	for i < len(k.Step) && k.Step[i] == k.Step[0] {
		i++
	}
	if i <= 1 || len(k.Step)-i < 60 {
		return k
	}
	return k.rows(i-1, len(k.clock))
}
