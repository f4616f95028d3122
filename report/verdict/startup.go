package verdict

import (
	"fmt"
	"math"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/evidence"
	"github.com/gpumem/gpumem/report/growth"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/looks"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
)

// Every program takes its first memory in some seconds, and these are more.
const (
	startSlow = 8.  // in which one of an interpreter imports, on a busy machine: 5 were seen of PyTorch
	startBusy = 24. // in which it may take memory that a growth is not sure of
)

// mayBeStarting says why a growth of host memory of a program of Python's may be its
// start or its filling up until its first collection: it ran so shortly, and the looks at
// it found nobody who holds what came. Empty of another. Beside a device that has been
// alive for some time, holders of host memory are not looked for.
func mayBeStarting(s *settled) string {
	_, python := s.Run.Meta.Versions["python"]
	hosts := s.primary == series.Host || s.primary == series.Heap
	if !python || !hosts || s.restsOn != ByTrend || s.Judged.CountsWork() || s.Judged.Untimed ||
		s.UsesDevice() && s.DeviceLived() >= series.StartAlive {
		return ""
	}
	lived, slow := s.Lived(), startBusy
	if lived >= slow {
		return ""
	}
	if s.tier() == Confirmed && !compilesFirst(s) {
		slow = startSlow
	}
	if lived >= slow || hostHolder(s, s.Holders()) != nil || compilesSteadily(s) {
		return ""
	}
	if s.UsesDevice() {
		return fmt.Sprintf("the program ran for only %s, and libraries load much until a device has been in use "+
			"for some seconds", units.Span(lived))
	}
	return fmt.Sprintf("the program ran for only %s, and nothing that its names reach got so much longer",
		units.Span(lived))
}

// mayHide says why host memory of a program of Python's may grow although the trend saw
// nothing, where it was seen for so short a time. Empty of another.
func mayHide(s *settled) string {
	if !isYoungPython(s) || !s.Grow[series.Host].Known {
		return ""
	}
	for _, why := range [...]string{tooLittleSeen(s), compiledLately(s), tooLateToSee(s), nearlyBlind(s)} {
		if why != "" {
			return why
		}
	}
	return hiddenByGiving(s)
}

// isYoungPython reports whether the process is a program of Python's in its first half minute.
func isYoungPython(s *settled) bool {
	_, python := s.Run.Meta.Versions["python"]
	return python && !s.Judged.Untimed && s.Lived() < series.StartFor
}

// tooLittleSeen says so where a program that uses a device set itself up for most of the time that
// it was seen: what leaks by the epoch, the request or the trial has not come by yet.
func tooLittleSeen(s *settled) string {
	clock, lived := s.Judged.Clock, s.Lived()
	if !s.UsesDevice() || len(clock) == 0 {
		return ""
	}
	seen := clock[len(clock)-1] - clock[0]
	if seen >= noneFor || seen > lived/2 {
		return ""
	}
	return fmt.Sprintf("the program set itself up for %s, and was seen at work for only %s",
		units.Span(lived-seen), units.Span(seen))
}

// compiledLately says so where a program that uses a device had code compiled for it until shortly before:
// it may not have come to what it does again and again.
func compiledLately(s *settled) string {
	clock := s.Judged.Clock
	if !s.UsesDevice() || len(clock) == 0 || !runsCompiler(s, clock[len(clock)-1]-noneFor, clock[len(clock)-1]) {
		return ""
	}
	return "the program was compiling code for its device until shortly before, so its real work may not have begun"
}

// hardlySeen bounds the confidence that nothing grows in a program of Python's that was seen at work for a few
// seconds alone.
func hardlySeen(s *settled) {
	_, python := s.Run.Meta.Versions["python"]
	if s.class != None || !python || s.Judged.Untimed || len(s.Judged.Clock) == 0 {
		return
	}
	clock := s.Judged.Clock
	if clock[len(clock)-1]-clock[0] < 2*noneFor {
		s.confidence = min(s.confidence, likelyNone)
	}
}

// tooLateToSee says so where host memory that doubled in the time that the program was seen would
// not have shown: it set itself up for most of that.
func tooLateToSee(s *settled) string {
	least, held := s.Judged.Detectable(&s.Grow[series.Host]), stat.Known(s.Judged.Series[series.Host])
	if least == nil || len(held) == 0 || *least*s.Lived() < math.Max(held[len(held)-1], evidence.StartSmall) {
		return ""
	}
	return fmt.Sprintf("host memory rose until shortly before, and %s a second more would not have been seen since",
		units.Bytes(*least))
}

// nearlyBlind says so where a young device's first seconds would not have shown what many a fault takes. Recordings
// of 81 programs with a fault, judged after 6, 7 and 8 s, were said not to grow five times, each time by what would
// have hidden more.
func nearlyBlind(s *settled) string {
	lived, most := s.DeviceLived(), mostHidden(&s.Examined)
	if !s.UsesDevice() || lived >= blindFor || most <= leastSight {
		return ""
	}
	return fmt.Sprintf("the device has been in use for only %s, and a growth of %s a second would not have been seen",
		units.Span(lived), units.Bytes(most))
}

// hiddenByGiving says so where the last look found a holder without a bound longer, by as much as
// host memory rose by since the look before: what the program gave back hides it from the trend.
func hiddenByGiving(s *settled) string {
	beside := s.Judged.Series[series.Live] != nil
	for _, c := range looks.Courses(&s.Examined.Process) {
		l := c.Looks[len(c.Looks)-1]
		rise := s.Whole.Between(series.Host, l.At-l.Over, l.At) * l.Over
		part := float64(l.Holder.Bytes) / rise
		if len(c.Looks) > 1 && c.Lengthens() && !c.TurnsOver() && l.Holder.Bound == 0 && l.Holder.Host == beside &&
			l.At >= s.End()/2 && rise > s.Whole.Delta(series.Host) && part >= looks.LeastExplained &&
			part <= looks.MostExplained {
			return c.Path + " got longer, and host memory with it, but the program gave back as much before"
		}
	}
	return ""
}

// While the device is young, what is a straight line for some seconds is a round of work, or a cache.
// Recordings of 144 faulty programs with their twins, and 220 further ones of some of these, cut after 6
// to 12 s, show what is sure all the same: none of these limits accuses a twin there.
const (
	sureFor    = 5.   // seconds that a growth lasts of which the trend is sure
	sureLive   = 3.8  // the same where it is live memory, which a start takes at once
	likelyFor  = 7.5  // the same of a pool or the driver where the trend is not sure
	likelyLive = 3.2  // the same of live memory, where it is nearly sure
	wellLikely = .925 // confidence of that
	stillRises = .9   // of the pace of its first half, in the second: caches fill ever more slowly

	// blindFor is for how many seconds of a device's use a none must have shown what grows by leastSight a second.
	blindFor   = 9.
	leastSight = 3 * mib

	// noneFor is for how many seconds a program must have worked to be said not to grow. Of 97 of those
	// recordings that worked for 3 to 5 s, after a longer start, and were not seen to grow, 4 had a fault.
	noneFor = 3.
	// likelyNone is the confidence of a none of so little work: below confirmed.
	likelyNone = .9

	// leastHost is what the host must have grown by where nobody is known to hold it: a heap creeps as
	// much while libraries are used for the first time.
	leastHost = 16 * mib

	// For creepsFor seconds of a device's use less than mostCreep of that may still be such creeping, and
	// for creepsOn less than leastCreep: a library that notes each new shape takes some KiB for it.
	creepsFor  = 20.
	mostCreep  = 8 * mib
	creepsOn   = 60.
	leastCreep = 2 * mib

	// heldThings is how many a container of the host's must hold whatever the time: a ring that
	// fills has fewer.
	heldThings = 32
)

// isSure reports whether the trend alone is sure of a growth while the device is young. It is not
// of host memory where looks found the program's own holder longer each time: what compiles its
// first kernels takes as much. Nor is it of what the driver took of the host: results that a program
// has copied are touched first by the driver, too.
func isSure(s *settled) bool {
	onHost := s.primary == series.Host || s.primary == series.Heap
	if s.class == HostGrowth && holdsOwn(s) || s.class == DriverGrowth && onHost {
		return false
	}
	lasted := growth.SpanOf(&s.Examined, &s.Grow[s.primary])
	holder := hostHolder(s, s.Holders())
	switch {
	case isSlight(s):
		return false
	case holder != nil && holder.Count >= heldThings:
		return true
	case s.class == HostGrowth && holder == nil && (s.Grow[s.primary].Gained() < leastHost || compilesFirst(s)):
		return false
	case s.tier() != Confirmed:
		byPool := s.class == PoolGrowth || s.class == DriverGrowth
		return lasted >= likelyFor && byPool || lasted >= likelyLive && isSteady(s)
	case s.primary == series.Live:
		return lasted >= sureLive
	}
	return lasted >= sureFor
}

// heapCreeps reports whether host memory of which no holder is known rose by little in the first seconds
// of a device's use.
func heapCreeps(s *settled, lived float64) bool {
	gained := s.Grow[s.primary].Gained()
	isLittle := lived < creepsFor && gained < mostCreep || lived < creepsOn && gained < leastCreep
	return lived >= series.StartAlive && s.class == HostGrowth && isLittle && hostHolder(s, s.Holders()) == nil
}

// isSteady reports whether the trend is nearly sure of a growth of live memory, and it does not slow down.
func isSteady(s *settled) bool {
	x, y := s.Grow[series.Live].BlockX, s.Grow[series.Live].BlockY
	if s.primary != series.Live || s.confidence < wellLikely || len(x) < trend.MinBlocks {
		return false
	}
	half, last := len(x)/2, len(x)-1
	first, second := (y[half]-y[0])/(x[half]-x[0]), (y[last]-y[half])/(x[last]-x[half])
	return second >= stillRises*first
}

// From deviceOld seconds of a device's life on a growth of its own memory that lasts for so many is no
// start: of 240 healthy programs that were cut 9.3, 10, 11 and 12.5 s after their device had come to life
// none is accused so, where of the host's memory 2 of them would be after 10.
const (
	deviceOld  = 9.
	lastsOnOld = 3.6
)

// isDevices reports whether memory of the device's own grows, or what is pinned for it, and has for so long that its
// start is over.
func isDevices(s *settled, lived float64) bool {
	onHost := (s.primary == series.Host || s.primary == series.Heap) && !evidence.IsPinned(&s.Examined)
	return !onHost && lived >= deviceOld && growth.SpanOf(&s.Examined, &s.Grow[s.primary]) >= lastsOnOld
}

// deviceIsYoung says why a growth that the trend alone tells, and not surely, may be what
// a program of Python's sets up when its device has come to life. Empty of another.
func deviceIsYoung(s *settled) string {
	if s.restsOn != ByTrend || s.primary == series.Keys {
		return ""
	}
	_, python := s.Run.Meta.Versions["python"]
	if !python || s.Judged.Untimed || !s.UsesDevice() {
		return ""
	}
	lived := s.DeviceLived()
	if heapCreeps(s, lived) {
		return fmt.Sprintf("host memory rose by only %s in the first %s of the device's use, and a heap rises by as "+
			"much until it has settled", units.Bytes(s.Grow[s.primary].Gained()), units.Span(lived))
	}
	if lived >= series.StartAlive || isDevices(s, lived) || isSure(s) || heldSoFar(s) || askedSoFar(s) ||
		lived == 0 && heldOnHost(s) {
		return ""
	}
	if lived == 0 {
		return "the program has not used its device yet, and programs load much until then"
	}
	return fmt.Sprintf("the device has been in use for only %s, and programs fill their caches then",
		units.Span(lived))
}
