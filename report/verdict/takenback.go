package verdict

import (
	"fmt"
	"slices"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/cause"
	"github.com/gpumem/gpumem/report/evidence"
	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/growth"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/looks"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// mayBeDead says why a growth of host memory stays open that is the heap's, where no
// collection of old objects tells whether they are in use. Empty of another.
func mayBeDead(s *settled) string {
	g := &s.Grow[series.Host]
	if s.restsOn != ByTrend || s.class != HostGrowth || s.primary != series.Host || !g.Growing() ||
		s.KeptMore != "" {
		return ""
	}
	return growth.DeadWords(&s.Examined)
}

// v8Uncollected is how much of what is dead V8 keeps until it collects: 64 MiB outside of its
// heap (kExternalAllocationSoftLimit), and a new space of three times 16 MiB.
const v8Uncollected = 64 << 20

// v8MayBeDead says why a growth of host memory of a program of V8's stays open that the trend
// alone tells and that is less than V8 lets come before it collects. Empty of another.
func v8MayBeDead(s *settled) string {
	g := &s.Grow[series.Host]
	if s.restsOn != ByTrend || s.class != HostGrowth || s.primary != series.Host || !g.Growing() ||
		g.Gained() >= v8Uncollected || !runsV8(&s.Examined.Process) {
		return ""
	}
	return fmt.Sprintf("host memory grows by %s, and JavaScript's engine lets up to %s of dead objects and buffers "+
		"gather before it collects them: a longer run tells, or two heap snapshots, which collect first",
		units.Bytes(g.Gained()), units.Bytes(v8Uncollected))
}

// slowed is the part of the rate before the window that is left in it where a cache is full
// but for the last of what belongs there.
const slowed = 1. / 4

// slowsDown says why a growth of host memory that the trend alone tells stays open: it rose
// many times as fast before, and ever more slowly while it was judged, as a cache that still
// fills does. Empty of another, and of Python, which says more of its caches, and whose
// frameworks take most while they are imported.
func slowsDown(s *settled) string {
	g := &s.Grow[series.Host]
	_, python := s.Run.Meta.Versions["python"]
	if python || s.restsOn != ByTrend || s.class != HostGrowth || s.primary != series.Host || !g.Growing() ||
		s.Judged.Untimed || g.Halves() >= trend.Slowing {
		return ""
	}
	before := s.Judged.Axes.RateBefore(s.Judged.Series[series.Host], g)
	if !(before*slowed > g.Rate) {
		return ""
	}
	return fmt.Sprintf("host memory grows ever more slowly, by %s a second at first and by %s now: a cache that still "+
		"fills looks like this", units.Bytes(before), units.Bytes(g.Rate))
}

// fillsAndMore says why a growth of host memory stays open that fills what the program had
// reserved: where that is all but full, as an allocator that reserves for minutes fills one
// piece after the other; or where a little more is reserved meanwhile. Empty of another.
func fillsAndMore(s *settled) string {
	g := &s.Grow[series.Host]
	if s.restsOn != ByTrend || s.class != HostGrowth || s.primary != series.Host || !g.Growing() {
		return ""
	}
	return evidence.FillsMore(&s.Examined)
}

// fillsUp says why a growth that the trend alone tells may be a container with a bound
// that fills up: one that came as fast, at the last look. Empty of another.
func fillsUp(s *settled) string {
	if s.restsOn != ByTrend || s.class != HostGrowth && s.class != AppLeak || s.primary.Counts() ||
		s.Judged.Untimed || s.held != "" {
		return "" // that a container without a bound was longer at each look stands beside one that fills
	}
	return evidence.MayFillUp(&s.Examined, s.primary, s.class == HostGrowth, s.size)
}

// roseWords say by how much host memory rose between the looks that found its holder longer
// each time, where those decided and not the trend.
func roseWords(s *settled) string {
	for _, c := range looks.Courses(&s.Examined.Process) {
		if c.Path == s.held {
			return fmt.Sprintf("%s grows by %s between the first and the last of %d looks, and the holder got "+
				"longer each time", s.what(), s.quantity(s.size), len(c.Looks))
		}
	}
	return s.why
}

// isBelowSight reports whether the trend would not have seen what the looks found: a holder that
// got longer at each of them, by less than what comes and goes beside it.
func isBelowSight(s *settled, f *finding.Finding) bool {
	if f.Holder == "" || !s.Grow[f.Of].Known || s.Judged.Untimed || len(s.Judged.Clock) == 0 {
		return false
	}
	least := s.Judged.Detectable(&s.Grow[f.Of])
	return least != nil && f.Size < *least*s.Lived()
}

// hiddenWords are why such a verdict is open.
func hiddenWords(f *finding.Finding) string {
	return f.Holder + " got longer at each look, by less than the samples would have shown"
}

// slight is the part of what an account holds below which a growth is slight.
const slight = 1. / 64

// slightest is the part below which a growth from late in a run on is slight however straight it is.
const slightest = slight / 4

// isSlight reports whether what host memory grew by is little beside what it is, and less
// than the heap keeps free between blocks: one request larger than any before takes as much.
func isSlight(s *settled) bool {
	g := &s.Grow[s.primary]
	if s.class != HostGrowth || g.Gained() >= slight*g.End {
		return false
	}
	free := stat.Known(s.Judged.Cols[record.ColHostHeapFree])
	return len(free) > 0 && g.Gained() < free[len(free)-1]
}

// slightAndLate says why a growth of host memory that the trend sees in the last part of the run
// alone stays open: it is little beside what the process has, or what the C heap keeps free. Blocks of
// many sizes that come and go make a heap creep as much until it has settled, some so straight that
// the trend is sure of it. Empty of another.
func slightAndLate(s *settled) string {
	if s.restsOn != ByTrend || s.class != HostGrowth {
		return ""
	}
	g := &s.Grow[s.primary]
	sure := s.tier() == Confirmed
	keptFree := evidence.HeapKeeps(&s.Examined)
	switch {
	case !g.Late:
		return ""
	case g.Gained() < leastSettled && heapKeepsIt(s) && (!sure || keptFree >= nearlyAll*s.size):
		return "host memory grew only from late in the run on, and most of that lies free in the C heap: " +
			"a heap that settles does so, too"
	case sure && g.Gained() >= slightest*g.End || g.Gained() >= slight*g.End:
		return ""
	}
	return "host memory grew by little beside what it is, and only from late in the run on: " +
		"a heap that settles does so, too"
}

// besideArrays says so of device memory outside of the program's arrays that the trend is not sure
// of, where these rose by far more without a decision: the driver gives each block in grains, and keeps
// something for each. Empty of another.
func besideArrays(s *settled) string {
	live := &s.Grow[series.Live]
	if s.restsOn != ByTrend || s.primary != series.Untracked || s.tier() == Confirmed || !live.Known ||
		live.Shape != trend.ShapeUndecided || live.Rise < farMore*s.Grow[s.primary].Gained() {
		return ""
	}
	return "what the program references rose by more meanwhile, and each of its blocks takes something of the driver"
}

// besideHolder says so of a pool's idle memory that the trend tells, where a container got far more by each look: what
// is live grows below what comes and goes, and what is idle with it. Empty of another.
func besideHolder(s *settled) string {
	if s.restsOn != ByTrend || s.primary != series.Idle || !s.Grow[series.Live].Known {
		return ""
	}
	for _, c := range looks.Courses(&s.Examined.Process) {
		l := &c.Looks[len(c.Looks)-1]
		grows := c.Lengthens() && c.KeepsPace() && !c.IsFew() && l.Holder.Bound == 0 && hasName(c.Path)
		enough := l.Rate()*growth.SpanOf(&s.Examined, &s.Grow[s.primary]) >= farMore*s.size
		if grows && enough && !stoodStill(s, l.At, l.Rate()) {
			return fmt.Sprintf("%s grew by %s in the %s before the last look, and the pool's idle memory grows with it",
				c.Path, units.Bytes(float64(l.Holder.Bytes)), units.Span(l.Over))
		}
	}
	return ""
}

// stoodStill reports whether what is live moved by less since a look some time ago than half of what would have come
// at a rate.
func stoodStill(s *settled, at, rate float64) bool {
	end := s.Whole.Clock[len(s.Whole.Clock)-1]
	swing := s.Whole.Highest(series.Live, at, end) - s.Whole.Lowest(series.Live, at, end)
	return end-at >= sometime && swing < rate*(end-at)/2
}

// sometime is from how many seconds on it shows that nothing came since a look.
const sometime = 2.

// farMore is by how many times as much what the program references must have risen for that, or a holder of it.
const farMore = 2

// leastSettled is the growth of host memory from which a heap's settling does not explain it.
const leastSettled = 8 * mib

// nearlyAll is the part of a growth that is sure which must lie free in the heap to be its settling.
const nearlyAll = 3. / 4

// heapKeepsIt reports whether most of what host memory grew by lies free in the C heap, while what
// the program has in use of it does not grow.
func heapKeepsIt(s *settled) bool {
	heap := &s.Grow[series.Heap]
	return heap.Known && !heap.Growing() && evidence.HeapKeeps(&s.Examined) >= s.size/2
}

// fewElements says why a growth that the trend tells, and not surely, may be a container
// that is given the last of what belongs there: the looks saw so few large elements come
// that a set of one for each of a few things fills in the same way. Empty of another.
func fewElements(s *settled) string {
	if s.restsOn != ByTrend || s.primary.Counts() || s.tier() == Confirmed {
		return ""
	}
	h := s.blamed(s.Holders())
	if s.class == HostGrowth {
		h = hostHolder(s, s.Holders())
	}
	if h == nil {
		return ""
	}
	for _, c := range looks.Courses(&s.Examined.Process) {
		n := len(c.Looks) - 1
		if c.Path != h.Path || n < 1 {
			continue
		}
		first, last := c.Looks[0].Holder.Length, c.Looks[n].Holder.Length
		if last <= first || !c.IsFew() {
			return ""
		}
		return fmt.Sprintf("%s had only %s at the last look, and a set of a few large things that is still "+
			"filling grows as this does", c.Path, units.Counted(last, "element", "elements"))
	}
	return ""
}

// leastHandles is how many live handles must come to be more than a set of a few small things
// that fills, where no driver has a ceiling for them.
const leastHandles = 100

// fewHandles says why a growth in number alone stays open: so few came that no bytes were seen
// with them, as an object for each of a few things brings along. Empty of another.
func fewHandles(s *settled) string {
	if s.restsOn != ByTrend || s.class != AppLeak || s.primary != series.Count || s.size >= leastHandles ||
		cause.MaybeMetal(&s.Run.Meta) {
		return ""
	}
	for _, c := range looks.Courses(&s.Examined.Process) {
		if hasHandles(s, &c) {
			return ""
		}
	}
	return fmt.Sprintf("live handles rose by only %d, and their bytes do not show: a small set that still fills looks "+
		"like this", int64(s.size+.5))
}

// hasHandles reports whether a container that the program only adds to got longer at each look, and so much came
// there until one of them, half of the live handles that came and leastShown of bytes, that it is no small set. A
// cache may be one that fills.
func hasHandles(s *settled, c *looks.Course) bool {
	h := &c.Looks[len(c.Looks)-1].Holder
	isSome := slices.ContainsFunc(c.Looks, func(l looks.Look) bool {
		return 2*float64(l.Holder.Count) >= s.size && l.Holder.Bytes >= leastShown
	})
	return isSome && h.OnlyAdded && h.Kind != cause.Caches && len(c.Looks) > 1 && c.Lengthens() && !c.IsFew()
}

// leastShown is from how many bytes on a container is no small thing, in which many handles are.
const leastShown = 8 * mib

// callsTellNot says why what the driver's calls alone tell is not to be believed of a process
// of which a library is known to have made some that nobody recorded: that nothing grows,
// where the driver tells no total either, and that what is untracked is the driver's own.
// Empty of any other.
func callsTellNot(s *settled) string {
	switch {
	case !callsPast(&s.Examined.Process):
		return ""
	case s.class == None && !s.Judged.Book.GPU:
		return "a library of the program calls the driver past gpumem, and nothing else tells what the " +
			"device holds for it; try --inject=audit"
	case s.class == DriverGrowth && s.primary == series.Untracked:
		return "device memory grows, and a library of the program calls the driver past gpumem, so that " +
			"nothing tells whose it is; try --inject=audit"
	}
	return ""
}

// callsPast reports whether a library of the process calls the driver past the capture.
func callsPast(p *series.Process) bool {
	for _, e := range p.Events.About(p.PID) {
		if e.Kind == record.KindWarning && e.Name == record.WarningPast {
			return true
		}
	}
	return false
}
