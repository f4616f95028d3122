package series

import (
	"math"
	"sort"

	"github.com/gpumem/gpumem/tracer/record"
)

// Leftovers are what the accounts held at the marks released beyond the first
// mark baseline of the same process.
type Leftovers struct {
	Last  float64 // seconds of the last released, 0 when there is none
	pairs int
	// by key: beyond the first baseline at each released; NaN unknown
	Held      [Keys][]float64
	last      [Keys]float64 // by key: the value at the last released; NaN unknown
	IdleCount float64       // buffers that the pool kept at the last released; NaN unknown
}

// Has reports whether the program made the marks.
func (f *Leftovers) Has() bool { return f.pairs > 0 }

// Of is a key's leftover at the last released, and whether it is known.
func (f *Leftovers) Of(k Key) (float64, bool) {
	h := f.Held[k]
	if len(h) == 0 || math.IsNaN(h[len(h)-1]) {
		return 0, false
	}
	return h[len(h)-1], true
}

// CameBack is how much less than before, which it held while the program worked, a key
// holds at the last released; 0 where that is not known or no less.
func (f *Leftovers) CameBack(k Key, before float64) float64 {
	if f.pairs == 0 || !(f.last[k] < before) {
		return 0
	}
	return before - f.last[k]
}

// PerRepetition is the smallest rise from one released to the next, over at
// least three of them; 0 when it is not known or does not rise each time.
func (f *Leftovers) PerRepetition(k Key) float64 {
	h := f.Held[k]
	if len(h) < 3 {
		return 0
	}
	least := math.Inf(1)
	for i := 1; i < len(h); i++ {
		least = math.Min(least, h[i]-h[i-1])
	}
	if !(least > 0) {
		return 0
	}
	return least
}

// LeftAtMarks reads the accounts at the marks. Baseline is the last known
// value up to the mark; released the first known one from the mark on, before
// the next event could change it, else the last one of the same step.
func LeftAtMarks(l *Accounts, x *Events) Leftovers {
	f := Leftovers{IdleCount: math.NaN()}
	base := math.NaN()
	for i, e := range x.About(l.PID) {
		if e.Kind != record.KindPhase {
			continue
		}
		t := e.TMs / 1000
		switch {
		case e.Name == record.PhaseBaseline && math.IsNaN(base):
			base = t
		case e.Name == record.PhaseReleased && !math.IsNaN(base) && t > base:
			f.Last = t
			f.pairs++
			next := nextEvent(x.all[i+1:], t)
			f.IdleCount = l.readAt(l.Cols[record.ColIdleCount], t, next, e.Step)
			for k := Key(0); k < Keys; k++ {
				if f.last[k] = math.NaN(); l.Series[k] != nil {
					f.last[k] = l.Released(k, t, next, e.Step)
					f.Held[k] = append(f.Held[k], f.last[k]-l.baseline(k, base))
				}
			}
		}
	}
	return f
}

// nextEvent is the time of the next event that may change what is held.
func nextEvent(events []record.Event, t float64) float64 {
	for i := range events {
		e := &events[i]
		switch e.Kind {
		case record.KindPhase, record.KindReceipt, record.KindStep, record.KindScope:
			if e.TMs/1000 > t {
				return e.TMs / 1000
			}
		}
	}
	return math.Inf(1)
}

// markSlack is how far from a mark, in seconds, a sample still belongs to it. One
// longer before released may be of the work: the tracer was kept from taking more.
const markSlack = .25

// baseline is a key's value at a mark before anything was taken: the last
// known up to it, else the first known soon after. A driver counter of 0 is
// no baseline: the device was not in use yet, and what the driver sets up
// then is not left over.
func (l *Accounts) baseline(k Key, t float64) float64 {
	v := l.Series[k]
	i := sort.Search(len(l.Clock), func(i int) bool { return l.Clock[i] > t+.002 })
	for j := i - 1; j >= 0; j-- {
		if v[j] == v[j] {
			return l.used(k, j)
		}
	}
	for j := i; j < len(v) && l.Clock[j] <= t+markSlack; j++ {
		if v[j] == v[j] {
			return l.used(k, j)
		}
	}
	if k == Live || k == Idle || k == Count {
		return 0 // a pool that has not said anything yet holds nothing
	}
	return math.NaN()
}

// used is a key's value in row j, unknown for untracked bytes of a device not
// in use.
func (l *Accounts) used(k Key, j int) float64 {
	if gpu := l.Cols[record.ColGPU]; k == Untracked && gpu != nil && !(gpu[j] > 0) {
		return math.NaN()
	}
	return l.Series[k][j]
}

// Released is a key's value at a mark after everything was given up.
func (l *Accounts) Released(k Key, t, next float64, step int64) float64 {
	return l.readAt(l.Series[k], t, next, step)
}

// readAt is a series at a mark: the first known value from it on, else the last known
// shortly before, if not of an earlier step.
func (l *Accounts) readAt(v []float64, t, next float64, step int64) float64 {
	i := sort.SearchFloat64s(l.Clock, t)
	for j := i; j < len(v) && l.Clock[j] < next && l.Clock[j] <= t+2; j++ {
		if v[j] == v[j] {
			return v[j]
		}
	}
	for j := min(i, len(v)) - 1; j >= 0 && l.Clock[j] >= t-markSlack &&
		(l.Step == nil || l.Step[j] >= float64(step)); j-- {
		if v[j] == v[j] {
			return v[j]
		}
	}
	return math.NaN()
}
