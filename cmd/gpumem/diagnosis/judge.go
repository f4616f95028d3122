package diagnosis

import (
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/live"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// judge has the monitor look after each round, which holds the false discovery rate
// over all processes, and at the end gives each process its verdict.
func (w *watching) judge() {
	defer close(w.done)
	for range w.rounds {
		w.live.Look()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, o := range w.of {
		if o.live != nil && o.live.Alarm != nil {
			o.grows, o.verdict = true, w.insideVerdict(o)
		} else {
			o.verdict = o.judge(w.live)
		}
	}
}

// judge is the verdict on a process without an alarm. Only the monitor's alarm
// accuses: it alone knows how many processes were tried.
func (o *observed) judge(set *live.Set) *verdict.Verdict {
	samples := 0
	if o.live != nil {
		samples = int(o.live.Count)
	}
	switch {
	case samples < LeastSamples:
		return o.undecided(fmt.Sprintf("Undecided: only %s; %d are needed.",
			units.Counted(samples, "sample", "samples"), LeastSamples))
	case o.still():
		return &verdict.Verdict{Schema: 1, Verdict: verdict.None,
			Summary: "No growth: the memory did not change at all."}
	}
	v := verdict.Judge(set.Run(o.live), verdict.Options{})
	if v.Verdict == verdict.None || v.Verdict == verdict.Undecided {
		return v
	}
	return o.undecided(
		"Undecided: it may grow, but among so many processes that is not certain enough; watch longer.")
}

func (o *observed) undecided(why string) *verdict.Verdict {
	return &verdict.Verdict{Schema: 1, Verdict: verdict.Undecided, Tier: verdict.TierUndecided, Summary: why}
}

// still reports whether no column ever changed.
func (o *observed) still() bool {
	for _, name := range watchNames() {
		c := o.live.Rows().Column(name)
		for _, v := range c {
			if v != c[0] && !(math.IsNaN(v) && math.IsNaN(c[0])) {
				return false
			}
		}
	}
	return true
}

// growth is what a column gained over the time watched, a second; NaN when not
// known. It is a description, not evidence.
func (o *observed) growth(column string) float64 {
	if o.live == nil {
		return math.NaN()
	}
	times := o.live.Rows().Column(record.ColTime)
	first, last := math.NaN(), math.NaN()
	var from, to float64
	for i, v := range o.live.Rows().Column(column) {
		if math.IsNaN(v) {
			continue
		}
		if math.IsNaN(first) {
			first, from = v, times[i]
		}
		last, to = v, times[i]
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
	if g := o.growth(record.ColFootprint); !math.IsNaN(g) {
		rate = g
	}
	if g := o.growth(record.ColGPU); g > rate {
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
		units.Counted(processes, "process", "processes"), at.Round(100*time.Millisecond), length)
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
