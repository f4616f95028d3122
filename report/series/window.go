package series

import (
	"math"
	"sort"

	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// stepsFromMarks makes the step column from step marks when there is none.
func (k *Track) stepsFromMarks(x *Events) {
	if k.Step != nil {
		return
	}
	n := 0.
	step := make([]float64, len(k.Clock))
	c := x.from(k.PID)
	for i, t := range k.Clock {
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
func (p *Process) trendRows(k *Track) (from, to int) {
	begin, end, exit := math.Inf(-1), math.Inf(1), math.Inf(1)
	for _, e := range p.Events.About(p.PID) {
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
	if p.Left.Last > 0 {
		end = math.Min(end, p.Left.Last)
	}
	from = sort.SearchFloat64s(k.Clock, begin)
	to = sort.Search(len(k.Clock), func(i int) bool { return k.Clock[i] > math.Min(end, exit) })
	if exit < end {
		to = k.untilReturned(to)
	}
	if from >= to {
		return 0, len(k.Clock)
	}
	return from, to
}

// withoutSetup leaves out rows in phases named after setting up. It keeps all
// rows when nothing else would be left.
func (k *Track) withoutSetup(x *Events) *Track {
	keep := make([]int, 0, len(k.Clock))
	setup := false
	c := x.from(k.PID)
	for i, t := range k.Clock {
		for e := c.upTo(t); e != nil; e = c.upTo(t) {
			if e.Kind == record.KindPhase {
				_, setup = record.SetupWord(e.Name)
			}
		}
		if !setup {
			keep = append(keep, i)
		}
	}
	if len(keep) < trend.MinBlocks || len(keep) == len(k.Clock) {
		return k
	}
	out := *k
	out.T, out.Clock = pick(k.T, keep), pick(k.Clock, keep)
	if k.Step != nil {
		out.Step = pick(k.Step, keep)
	}
	out.Cols = make(map[string][]float64, len(k.Cols))
	for n, v := range k.Cols {
		out.Cols[n] = pick(v, keep)
	}
	return &out
}

// fromFirstStep leaves out the rows before the first step: a program sets
// itself up there. It keeps everything when too little would be left.
func (k *Track) fromFirstStep() *Track {
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
	return k.rows(i-1, len(k.Clock))
}
