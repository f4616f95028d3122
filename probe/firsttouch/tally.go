package firsttouch

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// What watching is taken to cost the target. Measured by BenchmarkCostToTheTarget
// on a program that does nothing but fault (1.45 µs a fault): an enabled event
// adds 0.15 µs to every fault, sampled or not, and a sample with call chain and
// 512 bytes of stack 1.2 µs more. So thinning the samples is not enough where
// faults come fast: the events must also not be there most of the time. One that
// is merely turned off still costs 0.04 µs a fault. Twice the cost of a fault is
// assumed, for what opening and closing takes and for slower machines.
const (
	faultCost  = 300 * time.Nanosecond
	sampleCost = 1250 * time.Nanosecond
)

// Bounds of the thinning: so that there is always something to see.
const (
	maxPeriod = 1 << 16
	minWindow = 500 * time.Microsecond
)

// window is how long of a cycle events may be there for a thread with the
// given faults a second. Half of the target's share pays for it, the other
// half for the samples.
func window(rate float64, cycle time.Duration, maxShare float64) time.Duration {
	cost := rate * faultCost.Seconds()
	if cost <= maxShare/2 {
		return cycle
	}
	on := time.Duration(float64(cycle) * maxShare / 2 / cost)
	return min(max(on, minWindow), cycle)
}

// nextPeriod is how many faults make a sample for a thread with the given
// faults a second, watched during a window of each cycle. The result is
// odd, so that it does not beat with loops over blocks of pages.
func nextPeriod(rate float64, on, cycle time.Duration, maxShare float64) uint64 {
	allowed := cycle.Seconds() * maxShare / 2 / sampleCost.Seconds()
	want := rate * on.Seconds() / max(allowed, 1)
	if !(want < maxPeriod) {
		return maxPeriod - 1
	}
	return uint64(math.Ceil(want)) | 1
}

// Thresholds of the judgement. Programs that leaked kept 80 % and more of what
// they touched; a compiler called again and again kept 4 %.
const (
	growthFrom  = 0.5
	churnUpTo   = 0.2
	enoughBytes = 1 << 20
	enough      = 50 // samples
)

// judge compares bytes touched with bytes grown. Growth beyond what was
// touched (huge pages, memory that a driver mapped) is growth all the same.
func judge(touched, grown int64, known bool, samples uint64) Comparison {
	c := Comparison{TouchedBytes: touched, GrowthBytes: grown, Known: known, Judgement: Undecided}
	if !known || touched <= 0 {
		return c
	}
	c.Kept = min(max(float64(grown)/float64(touched), 0), 1)
	switch {
	case samples < enough || touched < enoughBytes:
	case c.Kept >= growthFrom:
		c.Judgement = Growth
	case c.Kept <= churnUpTo:
		c.Judgement = Churn
	default:
		c.Judgement = Mixed
	}
	return c
}

// tally charges samples to owners. It keeps libraries, and of addresses so many at
// most, so its size does not grow with time.
type tally struct {
	chains  map[chain]uint64
	owners  map[string]*charge
	weight  uint64
	samples uint64
}

// charge is what one owner was charged so far, in faults (weights).
type charge struct {
	path     string
	samples  uint64
	weight   uint64
	onFiles  uint64
	leaves   map[string]uint64
	byMethod [methods]uint64
}

func newTally() *tally {
	return &tally{owners: make(map[string]*charge), chains: make(map[chain]uint64)}
}

// add charges one sample that stands for weight faults.
func (t *tally) add(x *sample, s *space, weight uint64) {
	owner, leaf, at, how := s.owner(x)
	if c, ok := s.chainOf(x, owner, at, how); ok {
		t.at(c, weight)
	}
	name, path, leafName := OwnerUnknown, "", OwnerUnknown
	if owner != nil {
		name, path = owner.library, owner.path
	}
	if leaf != nil {
		leafName = leaf.library
	}
	c := t.owners[name]
	if c == nil {
		c = &charge{path: path, leaves: make(map[string]uint64)}
		t.owners[name] = c
	}
	c.samples++
	c.weight += weight
	c.leaves[leafName] += weight
	c.byMethod[how]++
	if g := s.find(x.address); g != nil && g.file {
		c.onFiles += weight
	}
	t.weight += weight
	t.samples++
}

// list returns the owners by share. faults is the number of faults that the
// samples stand for, pageSize the bytes of each.
func (t *tally) list(faults uint64, pageSize int64) []Owner {
	var list []Owner
	for name, c := range t.owners {
		share := float64(c.weight) / float64(t.weight)
		o := Owner{Library: name, Path: c.path, Samples: c.samples, Share: share, ByMethod: c.byMethod,
			Faults: uint64(share * float64(faults)), FileShare: float64(c.onFiles) / float64(c.weight)}
		o.Bytes = int64(share * float64(faults) * float64(pageSize))
		for leaf, w := range c.leaves {
			o.Leaves = append(o.Leaves, Leaf{leaf, float64(w) / float64(c.weight)})
		}
		slices.SortFunc(o.Leaves, func(a, b Leaf) int {
			return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Library, b.Library))
		})
		list = append(list, o)
	}
	slices.SortFunc(list, func(a, b Owner) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Library, b.Library))
	})
	return list
}

// warnings are what a reader of the report must know.
func (r *Report) warnings(bad, throttled uint64) []string {
	var w []string
	say := func(format string, args ...any) { w = append(w, fmt.Sprintf(format, args...)) }
	if r.UserOnly {
		say(
			"faults taken by the kernel for the program (a file read into new memory) are not seen: " +
				"kernel.perf_event_paranoid must be 1 or less, or CAP_PERFMON given")
	}
	if r.Lost > 0 {
		say("%d samples lost beside %d kept: a ring was full", r.Lost, r.Samples)
	}
	if throttled > 0 {
		say("the kernel throttled sampling %d times", throttled)
	}
	if bad > 0 {
		say("%d records not understood", bad)
	}
	if r.Unfollowed > 0 {
		say("%d threads could not be followed", r.Unfollowed)
	}
	if r.Faults > 0 && r.Samples == 0 {
		say("%d faults, but no sample", r.Faults)
	}
	return w
}
