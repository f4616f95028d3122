package verdict

import (
	"fmt"
	"math"
	"sort"
	"strings"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// leastMoved is what must move from one account to another to be a signature.
const leastMoved = 16 * mib

// working is how many rows there are until the last one judged for a trend: what
// the program gives up at its end tells nothing of what it gave up at work.
func (s *subject) working() int {
	if len(s.led.clock) == 0 {
		return 0
	}
	return sort.SearchFloat64s(s.whole.clock, s.led.clock[len(s.led.clock)-1]) + 1
}

// follow is by how much lead fell at work, in falls of at least a MiB between two
// rows, and how much of that tail fell about the same rows.
func (s *subject) follow(lead, tail []float64) (fell, followed float64) {
	n := s.working()
	return follow(lead[:min(n, len(lead))], tail[:min(n, len(tail))])
}

// resident: the program and its pool gave buffers up, and the device keeps their
// memory.
func (s *subject) resident() *Cause {
	w := s.whole
	gpu := w.cols[record.ColGPU]
	if s.class != DriverGrowth || s.primary != keyUntracked || gpu == nil {
		return nil
	}
	fell, followed := s.follow(stat.Plus(w.series[keyLive], w.series[keyIdle]), gpu)
	if fell < leastMoved || followed > .2*fell || fell-followed < .5*s.size() {
		return nil
	}
	return &Cause{ID: CauseResident, Confidence: .8 * s.confidence,
		Evidence: []string{fmt.Sprintf("the program and its pool gave up %s; the device's counter fell by %s", size(fell), size(followed))},
		Next:     "remove what is released from residency sets and commit them, and drain the queue: either holds a buffer that nobody else references"}
}

// notEmptied: the device's counter falls with what is released, and the
// footprint, of which it is part, does not.
func (s *subject) notEmptied() *Cause {
	const next = "set a buffer's purgeable state to Empty before its last release: its pages then go at once"
	if !s.whole.unified() {
		return nil
	}
	for _, r := range s.experiments() {
		if r.Action != record.ActionPurge || r.GPUBytes == nil || r.ReturnedBytes == nil {
			continue
		}
		if gpu, back := float64(*r.GPUBytes), float64(*r.ReturnedBytes); gpu >= leastMoved && back < .2*gpu {
			return &Cause{ID: CauseNotEmptied, Confidence: .9, Next: next,
				Evidence: []string{fmt.Sprintf("by a purge the device's counter fell by %s and the footprint by %s", size(gpu), size(math.Max(0, back)))}}
		}
	}
	if s.class == None || s.primary != keyHost {
		return nil
	}
	gpu := s.whole.cols[record.ColGPU]
	fell, followed := s.follow(gpu, stat.Plus(s.whole.series[keyHost], gpu))
	if fell < leastMoved || followed > .2*fell || fell-followed < .5*s.size() {
		return nil
	}
	return &Cause{ID: CauseNotEmptied, Confidence: .8 * s.confidence, Next: next,
		Evidence: []string{fmt.Sprintf("released buffers took %s off the device's counter and %s off the footprint", size(fell), size(followed))}}
}

// How many buffers a device allows at once, where nobody recorded its limit: it
// is Metal's when iogpu.rsrc_limit is unset (MLX reads it so).
const (
	bufferCeiling = 499_000
	nearCeiling   = .8 // part of the limit
)

// ceiling: so many buffers exist that the next allocations fail with bytes free.
func (s *subject) ceiling() *Cause {
	count := s.whole.cols[record.ColLiveCount]
	if count == nil || !s.maybeMetal() {
		return nil
	}
	limit := bufferCeiling * 1.
	if told := stat.Known(account.Column(s.run.Samples, record.ColBuffersLimit)); len(told) > 0 {
		limit = told[len(told)-1]
	}
	most := stat.Quantile(stat.Known(stat.Plus(count, s.whole.cols[record.ColIdleCount])), 1)
	if !(most >= nearCeiling*limit) {
		return nil
	}
	return &Cause{ID: CauseCeiling, Confidence: .9,
		Evidence: []string{fmt.Sprintf("%.0f buffers exist; the device's limit is about %.0f, and allocations then fail with bytes free", most, limit)},
		Next:     "make fewer and larger buffers, and parts of them by offset"}
}

// inDriver: growth that the driver alone knows of, when no other cause is named.
// What was asked of the driver is memory of the caller's, not the driver's own.
// Host memory counts when the heap is known to be still or the driver was seen
// to touch it; device memory when what was asked of the driver is known not to
// grow along: else a library may have asked for it behind the program's back.
func (s *subject) inDriver() *Cause {
	if s.class != DriverGrowth || s.restsOn != ByTrend || s.primary == keyHandles {
		return nil
	}
	column := record.ColPinnedBytes
	if s.primary == keyUntracked {
		column = record.ColDriverAllocBytes
	}
	asked := s.advance(column)
	if s.primary == keyUntracked && asked != asked || asked > .2*s.size() {
		return nil
	}
	e := []string{s.what() + " grows by " + size(s.size())}
	if s.primary == keyHost {
		e[0] += s.hostWords()
	}
	if asked == asked {
		e = append(e, "what was asked of the driver grew by "+size(math.Max(0, asked)))
	}
	if still := s.stillCounters(); len(still) > 0 {
		e = append(e, "these do not grow with it: "+strings.Join(still, ", "))
	}
	return &Cause{ID: CauseDriver, Confidence: .6 * s.confidence, Evidence: e,
		Next: "run with another version of the driver, and without what is called most; report it with the growth a call"}
}

// stillCounters are the recorded counters of what could explain a growth in the
// driver and does not, by column.
func (s *subject) stillCounters() []string {
	var out []string
	for _, c := range append(driverHandles[:], handleKind{column: record.ColLiveCount, name: "live handles"},
		handleKind{column: record.ColPipelines, name: "pipelines"}, handleKind{column: record.ColShapes, name: "shapes"}) {
		if v := s.led.cols[c.column]; v != nil && !trend.Climbs(v, 1) {
			out = append(out, c.name)
		}
	}
	return out
}

// lazyPages: on unified memory the device's counter stepped up, the footprint
// came after it as pages were touched, and both stand still since.
func (s *subject) lazyPages() *Cause {
	if s.class != None || s.short || !s.whole.unified() {
		return nil
	}
	gpu, host := s.whole.cols[record.ColGPU], s.whole.series[keyHost]
	if gpu == nil || host == nil {
		return nil
	}
	n := s.working()
	a, f := settles(gpu[:n]), settles(stat.Plus(host, gpu)[:n])
	if a.rise < leastMoved || f.rise < .5*a.rise || f.rise > 1.5*a.rise || a.last > n/2 || f.last > n*3/4 || f.half < a.half+max(5, n/20) {
		return nil
	}
	return &Cause{ID: CauseWarmUp, Confidence: .8,
		Evidence: []string{fmt.Sprintf("the device's counter rose by %s, the footprint by %s %.1f s later; neither rises since",
			size(a.rise), size(f.rise), s.whole.clock[f.half]-s.whole.clock[a.half])},
		Next: "nothing: pages count from their first use on; judge the program after its warm-up"}
}

// settled is the part of a rise from which on it has come to its end: memory
// that comes and goes with the work may be the rest.
const settled = .85

// settling is a rise that came to its end: the rows at which half of it, and
// most, were reached for good.
type settling struct {
	rise       float64
	half, last int
}

func settles(v []float64) settling {
	k := stat.Known(v)
	if len(k) < leastTrendRows {
		return settling{}
	}
	end := stat.Median(k[len(k)*7/8:])
	s := settling{rise: end - k[0]}
	for i, x := range v {
		if x < k[0]+.5*s.rise {
			s.half = i
		}
		if x < k[0]+settled*s.rise {
			s.last = i
		}
	}
	return s
}

// leastFall is the least fall of live memory that is told from the work's own.
const leastFall = 4 * mib

// heapLate is how much later than other counters a heap may be told, in seconds:
// the Go agent reads its own at most every 10 ms.
const heapLate = .015

// finalizers: live memory falls only when the host's heap is collected: the
// collector, which does not see device bytes, decides when buffers go.
func (s *subject) finalizers() *Cause {
	live, heap := s.led.series[keyLive], s.led.series[keyHeap]
	if live == nil || heap == nil {
		return nil
	}
	reach := stat.Quantile(stat.Known(heap), .9) - stat.Quantile(stat.Known(heap), .1) // setting up is no collection
	collected := s.near(heap, reach/4)
	falls, with, chance, largest := 0, 0, 0, 0.
	for i := range live {
		if collected[i] {
			chance++
		}
		if i == 0 || !(live[i-1]-live[i] >= leastFall) {
			continue
		}
		falls, largest = falls+1, math.Max(largest, live[i-1]-live[i])
		if collected[i] {
			with++
		}
	}
	if falls < 3 || with < falls*9/10 || reach <= 0 || float64(chance) > .2*float64(len(live)) {
		return nil
	}
	return &Cause{ID: CauseFinalizers, Confidence: .8,
		Evidence: []string{fmt.Sprintf("live memory falls %d times, by up to %s, each time when the heap is collected", falls, size(largest))},
		Next:     "close buffers where their use ends, or tell the collector of their size: it sees a few bytes of each"}
}

// near marks the rows within two, or heapLate, of a fall of the heap. So many of
// all are there by accident.
func (s *subject) near(heap []float64, fall float64) []bool {
	out := make([]bool, len(heap))
	t := s.led.clock
	for i := 1; i < len(heap); i++ {
		if !(heap[i-1]-heap[i] > fall) {
			continue
		}
		for j := i; j >= 0 && (j >= i-2 || t[i]-t[j] <= heapLate); j-- {
			out[j] = true
		}
		for j := i; j < min(i+3, len(heap)); j++ {
			out[j] = true
		}
	}
	return out
}
