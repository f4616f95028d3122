package diagnosis

import (
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// judge feeds the monitor, which holds the false discovery rate over all
// processes, and at the end gives each process its verdict.
func (w *watching) judge() {
	defer close(w.done)
	names := watchNames()
	var cells []record.Cell
	for rows := range w.feed {
		for _, r := range rows {
			cells = cells[:0]
			for i, v := range r.values {
				if v != probe.Unknown {
					cells = append(cells, record.Cell{Column: names[i], Value: v})
				}
			}
			w.monitor.Add(r.pid, r.t, cells...)
		}
		w.alarms = w.monitor.Look()
	}
	for _, a := range w.alarms {
		if o := w.of[a.PID]; o != nil {
			o.grows, o.verdict = true, a.Verdict
		}
	}
	for _, o := range w.of {
		if !o.grows {
			o.verdict = o.judge()
		}
	}
}

// judge is the verdict on a process without an alarm. Only the monitor's alarm
// accuses: it alone knows how many processes were tried.
func (o *observed) judge() *verdict.Verdict {
	switch {
	case len(o.times) < LeastSamples:
		return o.undecided(fmt.Sprintf("Undecided: only %s, %d are needed.", plain.Plural(len(o.times), "sample", "samples"), LeastSamples))
	case o.still():
		return &verdict.Verdict{Schema: 1, Verdict: verdict.None, Summary: "No growth: the memory did not change at all."}
	}
	v := verdict.Judge(o.run(), verdict.Options{})
	if v.Verdict == verdict.None || v.Verdict == verdict.Undecided {
		return v
	}
	return o.undecided("Undecided: growth that is not certain enough among all the processes watched; watch longer.")
}

func (o *observed) undecided(why string) *verdict.Verdict {
	return &verdict.Verdict{Schema: 1, Verdict: verdict.Undecided, Tier: verdict.TierUndecided, Summary: why}
}

// still reports whether no column ever changed.
func (o *observed) still() bool {
	for _, c := range o.columns {
		for _, v := range c {
			if v != c[0] && !(math.IsNaN(v) && math.IsNaN(c[0])) {
				return false
			}
		}
	}
	return true
}

// run is what was kept, as the judge wants it.
func (o *observed) run() *record.Run {
	names := []string{record.ColTime}
	values := [][]float64{slices.Clone(o.times)}
	for i, name := range watchNames() {
		if slices.ContainsFunc(o.columns[i], func(v float64) bool { return !math.IsNaN(v) }) {
			names, values = append(names, name), append(values, slices.Clone(o.columns[i]))
		}
	}
	return &record.Run{Samples: record.NewSamples(names, values)}
}

// growth is what a column gained over the time watched, a second; NaN when not
// known. It is a description, not evidence.
func (o *observed) growth(column int) float64 {
	first, last := math.NaN(), math.NaN()
	var from, to float64
	for i, v := range o.columns[column] {
		if math.IsNaN(v) {
			continue
		}
		if math.IsNaN(first) {
			first, from = v, o.times[i]
		}
		last, to = v, o.times[i]
	}
	if to <= from {
		return math.NaN()
	}
	return (last - first) / (to - from) * 1000
}

// growing are the processes called growing, by how fast, and how many are
// undecided. Whose the growth is may be open.
func (o *Observation) growing() (list []*observed, undecided int) {
	for _, p := range o.of {
		switch {
		case p.grows:
			list = append(list, p)
		case p.verdict.Verdict == verdict.Undecided:
			undecided++
		}
	}
	speed := func(p *observed) float64 {
		rate, _ := p.fastest()
		return rate
	}
	slices.SortFunc(list, func(a, b *observed) int {
		if x, y := speed(a), speed(b); x != y {
			if x > y {
				return -1
			}
			return 1
		}
		return a.process.PID - b.process.PID
	})
	return list, undecided
}

// fastest is the greater of the growths of footprint and of GPU bytes, a second,
// and whether it is the latter; 0 when neither is known.
func (o *observed) fastest() (rate float64, gpu bool) {
	if g := o.growth(watchFootprint); !math.IsNaN(g) {
		rate = g
	}
	if g := o.growth(watchGPU); g > rate {
		return g, true
	}
	return rate, false
}

// Verdicts are those of all processes, each with whether it is called growing, in
// no order.
func (o *Observation) Verdicts() iter.Seq2[*verdict.Verdict, bool] {
	return func(yield func(*verdict.Verdict, bool) bool) {
		for _, p := range o.of {
			if !yield(p.verdict, p.grows) {
				return
			}
		}
	}
}

// on is what was observed of a process of a later scan.
func (o *Observation) on(pid int, start int64) *observed {
	if o == nil || o.of[pid] == nil || o.of[pid].process.Start != start {
		return nil
	}
	return o.of[pid]
}

// watchProgress is the line a person sees meanwhile.
type watchProgress struct {
	w     io.Writer // nil when nobody waits
	last  time.Time
	shown bool
}

func (p *watchProgress) show(at, length time.Duration, processes int) {
	if p.w == nil || time.Since(p.last) < 200*time.Millisecond {
		return
	}
	p.last, p.shown = time.Now(), true
	fmt.Fprintf(p.w, "\r\x1b[Kgpumem: watching %s, %s of %s (Ctrl-C ends early)",
		plain.Plural(processes, "process", "processes"), at.Round(100*time.Millisecond), length)
}

func (p *watchProgress) judging() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[Kgpumem: judging")
	}
}

func (p *watchProgress) clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
