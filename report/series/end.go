package series

import (
	"math"
	"slices"
	"sort"

	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/tracer/record"
)

// tornDown are the columns that fall when a program lets go of what it held.
var tornDown = [...]string{
	record.ColLive, record.ColLiveCount, record.ColGPU, record.ColRSS, record.ColFootprint,
	record.ColEvents, record.ColStreams, record.ColGraphs, record.ColModules,
	record.ColDriverAllocBytes, record.ColDriverProgramBytes, record.ColPinnedBytes,
}

// teardown leaves out the last rows after a program that ends let go of what
// it held: at most one in fifty, and as many before, in which it began to.
func (k *Track) teardown() *Track {
	n := len(k.Clock)
	if n < 12 {
		return k
	}
	most := max(2, n/50)
	cut := n
	for _, name := range tornDown {
		cut = min(cut, fallsFrom(k.Cols[name], n-most))
	}
	if cut == n {
		return k
	}
	// One column tells the end; that one and others may have begun to fall before.
	first := cut - most
	for _, name := range tornDown {
		cut = min(cut, peakBefore(k.Cols[name], first, cut))
	}
	return k.rows(0, cut)
}

// What ends with nothing more asked for has come and gone until then: so many of the blocks were
// given back, and it never paused for a part of that time.
const (
	comeAndGone  = 1. / 3
	longestPause = 1. / 4
)

// untilGivenBack leaves out the last rows of a program that asks the driver for nothing more and
// gives back most of what it had, or goes on to give back as it did all along, until it ends: at
// most one in eight.
func (k *Track) untilGivenBack() *Track {
	n := len(k.Clock)
	asked, held := k.ofDriver()
	if n < 24 || asked == nil || held == nil || !(asked[n-1] > 0) {
		return k
	}
	end := lastAsk(asked) + 1
	if n-end > n/8 || !(held[n-1] < held[end-1]/2 || k.onlyGivesBack(end)) {
		return k
	}
	return k.rows(0, end)
}

// untilSteepFall leaves out the last rows of a program that ended, in which it asks the driver for
// nothing and gives back more than it ever did in so many rows: at most one in fifty.
func (k *Track) untilSteepFall(ended bool) *Track {
	n := len(k.Clock)
	asked, held := k.ofDriver()
	if !ended || n < 24 || asked == nil || held == nil {
		return k
	}
	end := lastAsk(asked)
	rows := n - 1 - end
	if rows < 1 || rows > n/50 {
		return k
	}
	fall := held[end] - held[n-1]
	for i := range end - rows {
		if !(fall > 0) || held[i]-held[i+rows] >= fall {
			return k
		}
	}
	return k.rows(0, end+1)
}

// What comes after the last step of a program that told them all along is no part of its work: it
// writes down what it has found, or evaluates once more. So many steps there were at least, and the
// last of them is longer ago than so many times the longest that one of the second half took.
const (
	fewSteps  = 12
	afterStep = 3
)

// untilStepsEnd leaves out the last rows of a program that ended, in which it takes no step any more
// and its host memory rises by more than it did in so many rows since half of them: at most one in eight.
func (k *Track) untilStepsEnd(ended bool) *Track {
	n, host := len(k.Clock), k.Cols[record.ColFootprint]
	if !ended || n < 24 || k.Step == nil || host == nil || !(stat.Rise(k.Step) >= fewSteps) {
		return k
	}
	end := lastAsk(k.Step)
	rows := n - 1 - end
	if rows < 2 || rows > n/8 || k.Clock[n-1]-k.Clock[end] < afterStep*k.longestStep(end) {
		return k
	}
	rise := slices.Max(append(stat.Known(host[end:]), 0)) - host[end]
	for i := end / 2; i < end-rows; i++ {
		if !(rise > 0) || host[i+rows]-host[i] >= rise {
			return k
		}
	}
	return k.rows(0, end+1)
}

// longestStep is the longest time between two rows in the second half of those before end in which
// the step rose.
func (k *Track) longestStep(end int) float64 {
	longest, before := 0., math.NaN()
	for i := end/2 + 1; i <= end; i++ {
		if k.Step[i] > k.Step[i-1] {
			if t := k.Clock[i] - before; t > longest {
				longest = t
			}
			before = k.Clock[i]
		}
	}
	return longest
}

// ofDriver are how often the program asked the driver for memory so far, and how many pieces of it
// it holds, of the device's and of the host's that is pinned; nil where that is not known.
func (k *Track) ofDriver() (asked, held []float64) {
	if held = k.Cols[record.ColDriverProgramCount]; held == nil {
		return nil, nil
	}
	return k.Cols[record.ColDriverAllocs], stat.Plus(held, k.Cols[record.ColPinnedCount])
}

// lastAsk is the row in which a program asked the driver for the last time; asked has a row.
func lastAsk(asked []float64) int {
	last := len(asked) - 1
	for last > 0 && !(asked[last-1] < asked[len(asked)-1]) {
		last--
	}
	return last
}

// onlyGivesBack reports whether a program that asked the driver for memory all along, and gave much
// of it back, does only the latter from a row on.
func (k *Track) onlyGivesBack(from int) bool {
	asked, held := k.ofDriver()
	last := len(k.Clock) - 1
	if !(held[last] < held[from-1]) || asked[from-1]-held[from-1] < comeAndGone*asked[from-1] {
		return false
	}
	pause, before := 0., from-1
	for i := from - 1; i > last/2; i-- {
		if asked[i-1] < asked[i] {
			pause, before = math.Max(pause, k.Clock[before]-k.Clock[i]), i
		}
	}
	return pause > 0 && pause < longestPause*(k.Clock[last]-k.Clock[from-1])
}

// returning is the seconds before a program's exit in which its functions return, and let go
// of what their variables held.
const returning = .5

// untilReturned is the end of the rows before a program's exit without those in which it let
// go of what it held: that has fallen by then, and does not come back.
func (k *Track) untilReturned(exit int) int {
	if exit == 0 {
		return exit
	}
	first := sort.SearchFloat64s(k.Clock, k.Clock[exit-1]-returning)
	cut := exit
	for _, name := range tornDown {
		v := k.Cols[name]
		if at := peakBefore(v, first, exit); at < cut && stays(v[exit:], v[at-1]) {
			cut = at
		}
	}
	return cut
}

// fallsFrom is the first row from first on at which v falls by a quarter for
// good; len(v), or more, when it does not.
func fallsFrom(v []float64, first int) int {
	before := math.NaN() // the last known value
	for i := max(0, first-8); i < len(v); i++ {
		if i >= first && v[i] < .75*before && stays(v[i:], .9*before) {
			return i
		}
		if v[i] == v[i] {
			before = v[i]
		}
	}
	return math.MaxInt
}

// peakBefore is the row after v's last highest one in [first, cut) when v has
// fallen from it by then, else cut.
func peakBefore(v []float64, first, cut int) int {
	peak, at, last := math.Inf(-1), cut, math.NaN()
	for i := first; i < min(cut, len(v)); i++ {
		if v[i] != v[i] {
			continue
		}
		if last = v[i]; last >= peak {
			peak, at = last, i+1
		}
	}
	if last < .97*peak {
		return at
	}
	return cut
}

// stays reports whether all known values are below limit.
func stays(v []float64, limit float64) bool {
	for _, x := range v {
		if x > limit {
			return false
		}
	}
	return true
}

// working are the running totals that advance while a program works, and
// resting the columns that stand still when it has nothing more to do.
var (
	working = [...]string{
		record.ColAllocs, record.ColFrees, record.ColPoolHits, record.ColPoolMisses,
		record.ColCommands, record.ColCommandBuffers,
	}
	resting = [...]string{record.ColLive, record.ColIdle, record.ColLiveCount, record.ColGPU,
		record.ColPinnedBytes}
)

// untilWorkEnds leaves out the last rows of a program that worked all along and
// then waits for its end, or for that of another: a growth with its work did not
// end there. At most one in eight, and none where any account still moves.
func (k *Track) untilWorkEnds() *Track {
	n := len(k.Clock)
	end, busy := k.LastWork()
	end++ // the row in which it stands still first
	if n < 24 || busy < n/2 || end >= n-1 || n-end > n/8 {
		return k
	}
	for _, name := range resting {
		if k.spread(name, end) > 0 {
			return k
		}
	}
	if k.spread(record.ColFootprint, end) > mib {
		return k
	}
	return k.rows(0, end)
}

// spread is a column's highest less its lowest cell from a row on; 0 when none
// is known.
func (k *Track) spread(name string, from int) float64 {
	v := k.Cols[name]
	if v == nil {
		return 0
	}
	cells := stat.Known(v[from:])
	if len(cells) == 0 {
		return 0
	}
	return slices.Max(cells) - slices.Min(cells)
}

// LastWork is the row after the last one in which a step was taken or a total of
// working advanced, and in how many rows that was, or was not known.
func (k *Track) LastWork() (end, busy int) {
	var totals [][]float64
	for _, name := range working {
		if v := k.Cols[name]; v != nil {
			totals = append(totals, v)
		}
	}
	if k.Step != nil {
		totals = append(totals, k.Step)
	}
	before := make([]float64, len(totals))
	for i := range k.Clock {
		moved, told := false, false
		for j, v := range totals {
			if v[i] != v[i] {
				continue
			}
			told = true
			moved = moved || v[i] > before[j] && before[j] > 0
			before[j] = v[i]
		}
		if moved {
			end = i + 1
		}
		if moved || !told {
			busy++
		}
	}
	return end, busy
}
