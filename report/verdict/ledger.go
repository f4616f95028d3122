package verdict

import (
	"math"

	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/tracer/record"
)

// key is a series that is tested for growth.
type key int

// The keys: the four accounts, live's count, the series that tell whose the
// host's growth is, and the driver's handles.
const (
	keyLive key = iota
	keyCount
	keyIdle
	keyUntracked
	keyHost
	keyHeap
	keyInFlight
	keyRefs
	keyDevice  // device bytes, when nothing tells their owner
	keyHandles // the kind of the driver's handles whose number grows; set by examineHandles
	keys
)

// counts reports whether a key is a number of things, not of bytes.
func (k key) counts() bool { return k == keyCount || k == keyHandles }

// accountKeys are the byte series of the four accounts, in the order of the
// accounts.
var accountKeys = [...]key{keyLive, keyIdle, keyUntracked, keyHost}

// accountNames are the accounts of accountKeys.
var accountNames = [...]Account{Live, Idle, Untracked, Host}

// ledger is one process's track as accounts that add up. A nil series is
// unknown.
type ledger struct {
	*track
	series  [keys][]float64
	device  []float64 // device bytes: the driver's counter, else what it was asked for
	raw     []float64 // part of untracked that was asked of the driver
	unified bool
	missing []string
	quantum float64 // step of the driver's counter
}

// newLedger charges a track's bytes to the accounts. u is UnifiedYes,
// UnifiedNo, or UnifiedAuto to judge from the data.
func newLedger(k *track, u Unified) *ledger {
	l := &ledger{track: k}
	c := k.cols
	live, idle, asked := c[record.ColLive], c[record.ColIdle], c[colDriverAlloc]
	if l.device = c[record.ColGPU]; l.device == nil {
		l.device = asked
	}
	l.series[keyLive], l.series[keyIdle] = live, idle
	l.series[keyCount] = c[record.ColLiveCount]
	l.series[keyHeap] = c[record.ColHostHeap]
	l.series[keyInFlight] = c[record.ColInFlight]
	l.series[keyRefs] = c[record.ColRefs]
	switch {
	case l.device == nil:
		l.miss(record.ColGPU + ": no driver counter, untracked growth cannot be seen")
	case c[record.ColGPU] == nil:
		l.miss(record.ColGPU + ": no driver counter; what the driver was asked for stands in, contexts and modules are not seen")
	}
	switch {
	case l.device == nil:
	case live == nil:
		l.series[keyDevice] = l.device
	default:
		l.series[keyUntracked] = stat.Minus(l.device, live, idle)
		l.raw = stat.Minus(asked, live, idle)
		l.quantum = quantum(l.device)
	}
	if live == nil {
		l.miss(record.ColLive + ": no allocator counters, the program's part of device memory is unknown")
	} else if idle == nil {
		l.miss(record.ColIdle + ": what the pool keeps is not told from what the driver holds")
	}
	if c[record.ColLiveCount] == nil {
		l.miss(record.ColLiveCount + ": growth of handles without bytes cannot be seen")
	}
	l.host(u)
	if runningTotal(l.series[keyCount], c[record.ColAllocs], live) {
		l.series[keyCount] = nil
		l.warnf("%s equals %s: a running total, not a count of live handles; it was not judged", record.ColLiveCount, record.ColAllocs)
	}
	return l
}

func (l *ledger) miss(s string) { l.missing = append(l.missing, s) }

// host fills the host account: footprint less the device bytes that are host
// memory. Pages of files are not counted where the split is known: they are
// the kernel's to take back.
func (l *ledger) host(u Unified) {
	c := l.cols
	f := c[record.ColFootprint]
	if f == nil && c[record.ColRSSAnon] != nil {
		f = stat.Plus(c[record.ColRSSAnon], c[record.ColRSSShmem], c[record.ColSwap])
	}
	if f == nil {
		f = c[record.ColRSS]
	}
	if f == nil {
		l.miss(record.ColRSS + ": host memory was not recorded")
		return
	}
	if l.series[keyHeap] == nil {
		l.miss(record.ColHostHeap + ": the program's heap is not told from the driver's host memory")
	}
	dev := l.device
	if dev == nil && c[record.ColLive] != nil {
		dev = stat.Plus(c[record.ColLive], c[record.ColIdle])
	}
	l.unified = u == UnifiedYes || u == UnifiedAuto && movesInside(f, dev)
	if l.unified && dev != nil {
		f = stat.Minus(f, dev)
		if u == UnifiedAuto {
			l.warnf("device bytes move inside the footprint: taken as unified memory")
		}
	}
	l.series[keyHost] = f
}

// quantum is the smallest step between different readings of a counter.
func quantum(v []float64) float64 {
	q := math.Inf(1)
	prev := math.NaN()
	for _, x := range v {
		if d := math.Abs(x - prev); d > 0 && d < q {
			q = d
		}
		if x == x {
			prev = x
		}
	}
	if math.IsInf(q, 0) {
		return 0
	}
	return q
}

// movesInside reports whether device bytes are part of the footprint: never
// more than it, and moving it by as much when they jump, up and down.
func movesInside(f, dev []float64) bool {
	if f == nil || dev == nil {
		return false
	}
	var up, upWith, down, downWith float64
	last := -1
	for i := range f {
		if f[i] != f[i] || dev[i] != dev[i] {
			continue
		}
		if dev[i] > f[i] {
			return false
		}
		if last >= 0 {
			d, g := dev[i]-dev[last], f[i]-f[last]
			if d >= mib {
				up, upWith = up+d, upWith+stat.Clamp(g, 0, 1.5*d)
			}
			if d <= -mib {
				down, downWith = down-d, downWith+stat.Clamp(-g, 0, -1.5*d)
			}
		}
		last = i
	}
	const enough = 16 * mib
	return up > enough && upWith > .7*up && (down < enough || downWith > .7*down)
}

// runningTotal reports whether what is called a live count only counts
// allocations: it never falls, equals allocs throughout, and live bytes stay.
func runningTotal(count, allocs, live []float64) bool {
	if count == nil || allocs == nil || live == nil {
		return false
	}
	n := 0
	for i := range count {
		if count[i] != count[i] || allocs[i] != allocs[i] {
			continue
		}
		if count[i] != allocs[i] {
			return false
		}
		n++
	}
	return n > 2 && stat.Quantile(stat.Known(live), .9) <= 2*stat.Quantile(stat.Known(live), .3)
}

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
)
