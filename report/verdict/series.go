package verdict

import (
	"math"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/trend"
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
	keyHandles // the kind of the driver's handles whose number grows; set by examine
	keys
)

// counts reports whether a key is a number of things, not of bytes.
func (k key) counts() bool { return k == keyCount || k == keyHandles }

// accountKeys are the byte series of the four accounts, in the order of the
// accounts.
var accountKeys = [...]key{keyLive, keyIdle, keyUntracked, keyHost}

// accountNames are the accounts of accountKeys.
var accountNames = [...]Account{Live, Idle, Untracked, Host}

// countOf is the key that counts what an account's bytes are of; keys when
// nothing does.
func countOf(account key) key {
	switch account {
	case keyLive:
		return keyCount
	case keyUntracked:
		return keyHandles
	}
	return keys
}

// bytesOf is the series that has an account's bytes: all of the device's, where
// nobody tells whose they are.
func (l *accounts) bytesOf(account key) key {
	if account == keyUntracked && l.series[keyDevice] != nil {
		return keyDevice
	}
	return account
}

// testedKeys are the series whose growth, if it cannot be excluded, leaves a
// verdict open.
var testedKeys = [...]key{keyLive, keyCount, keyIdle, keyUntracked, keyHost, keyDevice}

// accounts are the rows of a process by account, as the series that are tested.
// A nil series is unknown.
type accounts struct {
	*track
	book    *account.Ledger
	series  [keys][]float64
	asked   []float64 // part of untracked that was asked of the driver
	missing []string
	quantum float64 // step of the driver's counter
}

// newAccounts charges a track's bytes to the accounts.
func newAccounts(k *track, u account.Unified) *accounts {
	c := k.cols
	l := &accounts{track: k, book: account.New(k.column, u)}
	l.series = [keys][]float64{
		keyLive: l.book.Live, keyCount: c[record.ColLiveCount], keyIdle: l.book.Idle, keyHost: l.book.Host,
		keyHeap: c[record.ColHostHeap], keyInFlight: c[record.ColInFlight], keyRefs: c[record.ColRefs],
	}
	if l.asksItself() {
		l.series[keyCount] = c[record.ColDriverProgramCount]
	}
	if l.book.Owned() {
		l.series[keyUntracked] = l.book.Untracked
		l.asked = stat.Minus(c[record.ColDriverAllocBytes], l.book.Live, l.book.Idle)
		l.quantum = quantum(l.book.Device)
	} else {
		l.series[keyDevice] = l.book.Device
	}
	l.missing = l.untold()
	if l.book.FromData {
		l.warnf("device bytes move inside the footprint: taken as unified memory")
	}
	if runningTotal(l.series[keyCount], c[record.ColAllocs], l.book.Live) {
		l.series[keyCount] = nil
		l.warnf("%s equals %s: a running total, not a count of live handles; it was not judged",
			record.ColLiveCount, record.ColAllocs)
	}
	return l
}

// asksItself reports whether what the program asked of the driver stands for what
// is live: no allocator tells.
func (l *accounts) asksItself() bool { return l.book.Program && !l.book.Tells.Live }

// mostInPools reports whether most of what the program holds lies in the driver's own
// pools, which tell what of it is idle.
func (l *accounts) mostInPools() bool {
	reserved := l.cols[record.ColDriverPoolReserved]
	if reserved == nil || l.cols[record.ColDriverPoolIdle] == nil {
		return false
	}
	return 2*middle(reserved) > middle(l.book.Live)+middle(l.book.Idle)
}

// column is a column of the track by name, nil when it is unknown.
func (k *track) column(name string) []float64 { return k.cols[name] }

// untold is what no column tells, and what therefore stays open.
func (l *accounts) untold() []string {
	var out []string
	miss := func(unknown bool, column, why string) {
		if unknown {
			out = append(out, column+": "+why)
		}
	}
	t := l.book.Tells
	miss(!t.HasDevice(), record.ColGPU, "no driver counter, untracked growth cannot be seen")
	miss(t.HasDevice() && !t.GPU, record.ColGPU,
		"no driver counter; what the driver was asked for stands in, contexts and modules are not seen")
	miss(!t.Owned(), record.ColLive, "no allocator counters, the program's part of device memory is unknown")
	miss(l.asksItself() && !l.mostInPools(), record.ColIdle,
		"which bytes are idle inside the program's own allocator is not known; "+
			"docs/agent-protocol.md shows how the program can report it")
	miss(t.Live && !t.Idle, record.ColIdle, "what the pool keeps cannot be told apart from what the driver holds")
	miss(l.series[keyCount] == nil, record.ColLiveCount, "growth of handles without bytes cannot be seen")
	miss(!t.HasHost(), record.ColRSS, "host memory was not recorded")
	miss(t.HasHost() && l.series[keyHeap] == nil, record.ColHostHeap,
		"the program's heap cannot be told apart from the driver's host memory")
	return out
}

// delta is the smallest growth of a key that matters over the window.
func (l *accounts) delta(i key) float64 {
	level := math.Abs(middle(l.series[i]))
	switch i {
	case keyCount, keyRefs, keyHandles:
		return math.Max(16, .001*level)
	case keyInFlight:
		return 8
	case keyUntracked, keyDevice:
		return math.Max(math.Max(mib, 2*math.Min(l.quantum, 4*mib)), .001*level)
	case keyHost, keyHeap:
		return math.Max(mib, .002*level)
	default:
		return math.Max(mib, .001*level)
	}
}

// question is what the series of a key is asked.
func (l *accounts) question(i key, c trend.Conditions) trend.Question {
	return trend.Question{Delta: l.delta(i), Share: share(i), Net: net(i), Conditions: c}
}

// share is the part of a block that stands for it: the troughs, or the median
// for the difference of counters that are read one after the other.
func share(i key) float64 {
	if i == keyUntracked {
		return 0
	}
	return trend.TroughShare
}

// net is the part of a growth that must be left when what fell is counted in.
// A pool near the device's end gives everything back at once and begins again:
// its falls are not the end of a retention.
func net(i key) float64 {
	if i == keyIdle {
		return .2
	}
	return .5
}

// middle is the median of a sample of v; 0 when nothing is known.
func middle(v []float64) float64 {
	s := make([]float64, 0, 1024)
	for i := 0; i < len(v); i += 1 + len(v)/1024 {
		if v[i] == v[i] {
			s = append(s, v[i])
		}
	}
	return stat.Median(s)
}

// unified reports whether device bytes are known to be part of the footprint.
func (l *accounts) unified() bool { return l.book.Unified && l.book.Host != nil }

// alive is how many handles of a kind are surely alive; nil when nobody counted
// them.
func (l *accounts) alive(column string) []float64 {
	if l.cols[column] == nil {
		return nil
	}
	// Each call that the capture missed may have been the end of a handle.
	return stat.Minus(l.cols[column], l.cols[record.ColCaptureLost])
}

// rise is by how much a column rose from a row on; NaN when it is unknown.
func (l *accounts) rise(column string, from int) float64 {
	v := l.cols[column]
	if v == nil {
		return math.NaN()
	}
	return stat.Rise(v[from:])
}

// compiled is how many shapes or pipelines were new from a row on; 0 when
// neither is counted.
func (l *accounts) compiled(from int) float64 {
	n := 0.
	for _, c := range [...]string{record.ColShapes, record.ColPipelines} {
		if r := l.rise(c, from); r > n {
			n = r
		}
	}
	return n
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
