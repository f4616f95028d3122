package series

import (
	"math"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// Key is a series that is tested for growth.
type Key int

// The keys: the four accounts, live's count, the series that tell whose the
// host's growth is, and the driver's handles. Keys is how many there are, and stands for
// none of them.
const (
	Live Key = iota
	Count
	Idle
	Untracked
	Host
	Heap
	InFlight
	Refs
	Device  // device bytes, when nothing tells their owner
	Handles // the kind of the driver's handles whose number grows; package growth fills it
	Keys
)

// Counts reports whether a key is a number of things, not of bytes.
func (k Key) Counts() bool { return k == Count || k == Handles }

// AccountKeys are the byte series of the four accounts, in the order of the
// accounts.
var AccountKeys = [...]Key{Live, Idle, Untracked, Host}

// AccountNames are the accounts of AccountKeys.
var AccountNames = [...]record.Account{record.AccountLive, record.AccountIdle, record.AccountUntracked,
	record.AccountHost}

// CountOf is the key that counts what an account's bytes are of; Keys when
// nothing does.
func CountOf(account Key) Key {
	switch account {
	case Live:
		return Count
	case Untracked:
		return Handles
	}
	return Keys
}

// BytesOf is the series that has an account's bytes: all of the device's, where
// nobody tells whose they are.
func (l *Accounts) BytesOf(account Key) Key {
	if account == Untracked && l.Series[Device] != nil {
		return Device
	}
	return account
}

// TestedKeys are the series whose growth, if it cannot be excluded, leaves a
// verdict open.
var TestedKeys = [...]Key{Live, Count, Idle, Untracked, Host, Device}

// Accounts are the rows of a process by account, as the series that are tested.
// A nil series is unknown.
type Accounts struct {
	*Track
	Book    *account.Ledger
	Series  [Keys][]float64
	Asked   []float64 // part of untracked that was asked of the driver
	Missing []string
	quantum float64 // step of the driver's counter
}

// newAccounts charges a track's bytes to the accounts.
func newAccounts(k *Track, u account.Unified) *Accounts {
	c := k.Cols
	l := &Accounts{Track: k, Book: account.New(k.column, u)}
	l.Series = [Keys][]float64{
		Live: l.Book.Live, Count: c[record.ColLiveCount], Idle: l.Book.Idle, Host: l.Book.Host,
		Heap: c[record.ColHostHeap], InFlight: c[record.ColInFlight], Refs: c[record.ColRefs],
	}
	if l.AsksItself() {
		l.Series[Count] = c[record.ColDriverProgramCount]
	}
	if l.Book.Owned() {
		l.Series[Untracked] = l.Book.Untracked
		l.Asked = stat.Minus(c[record.ColDriverAllocBytes], l.Book.Live, l.Book.Idle)
		l.quantum = quantum(l.Book.Device)
	} else {
		l.Series[Device] = l.Book.Device
	}
	l.Missing = l.untold()
	if l.Book.FromData {
		l.warnf("device bytes move inside the footprint: taken as unified memory")
	}
	if runningTotal(l.Series[Count], c[record.ColAllocs], l.Book.Live) {
		l.Series[Count] = nil
		l.warnf("%s equals %s: a running total, not a count of live handles; it was not judged",
			record.ColLiveCount, record.ColAllocs)
	}
	return l
}

// AsksItself reports whether what the program asked of the driver stands for what
// is live: no allocator tells.
func (l *Accounts) AsksItself() bool { return l.Book.Program && !l.Book.Tells.Live }

// MostInPools reports whether most of what the program holds lies in the driver's own
// pools, which tell what of it is idle.
func (l *Accounts) MostInPools() bool {
	reserved := l.Cols[record.ColDriverPoolReserved]
	if reserved == nil || l.Cols[record.ColDriverPoolIdle] == nil {
		return false
	}
	return 2*Middle(reserved) > Middle(l.Book.Live)+Middle(l.Book.Idle)
}

// column is a column of the track by name, nil when it is unknown.
func (k *Track) column(name string) []float64 { return k.Cols[name] }

// untold is what no column tells, and what therefore stays open.
func (l *Accounts) untold() []string {
	var out []string
	miss := func(unknown bool, column, why string) {
		if unknown {
			out = append(out, column+": "+why)
		}
	}
	t := l.Book.Tells
	miss(!t.HasDevice(), record.ColGPU, "no driver counter, untracked growth cannot be seen")
	miss(t.HasDevice() && !t.GPU, record.ColGPU,
		"no driver counter; what the driver was asked for stands in, contexts and modules are not seen")
	miss(!t.Owned(), record.ColLive, "no allocator counters, the program's part of device memory is unknown")
	miss(l.AsksItself() && !l.MostInPools(), record.ColIdle,
		"which bytes are idle inside the program's own allocator is not known; "+
			"docs/agent-protocol.md shows how the program can report it")
	miss(t.Live && !t.Idle, record.ColIdle, "what the pool keeps cannot be told apart from what the driver holds")
	miss(l.Series[Count] == nil, record.ColLiveCount, "growth of handles without bytes cannot be seen")
	miss(!t.HasHost(), record.ColRSS, "host memory was not recorded")
	miss(t.HasHost() && l.Series[Heap] == nil, record.ColHostHeap,
		"the program's heap cannot be told apart from the driver's host memory")
	return out
}

// Delta is the smallest growth of a key that matters over the window.
func (l *Accounts) Delta(i Key) float64 {
	level := math.Abs(Middle(l.Series[i]))
	switch i {
	case Count, Refs, Handles:
		return math.Max(16, .001*level)
	case InFlight:
		return 8
	case Untracked, Device:
		return math.Max(math.Max(mib, 2*math.Min(l.quantum, 4*mib)), .001*level)
	case Host, Heap:
		return math.Max(mib, .002*level)
	default:
		return math.Max(mib, .001*level)
	}
}

// Question is what the series of a key is asked.
func (l *Accounts) Question(i Key, c trend.Conditions) trend.Question {
	return trend.Question{Delta: l.Delta(i), Share: Share(i), Net: Net(i), Conditions: c}
}

// Share is the part of a block that stands for it: the troughs, or the median
// for the difference of counters that are read one after the other.
func Share(i Key) float64 {
	if i == Untracked {
		return 0
	}
	return trend.TroughShare
}

// Net is the part of a growth that must be left when what fell is counted in.
// A pool near the device's end gives everything back at once and begins again:
// its falls are not the end of a retention.
func Net(i Key) float64 {
	if i == Idle {
		return .2
	}
	return .5
}

// Middle is the median of a sample of v; 0 when nothing is known.
func Middle(v []float64) float64 {
	s := make([]float64, 0, 1024)
	for i := 0; i < len(v); i += 1 + len(v)/1024 {
		if v[i] == v[i] {
			s = append(s, v[i])
		}
	}
	return stat.Median(s)
}

// Unified reports whether device bytes are known to be part of the footprint.
func (l *Accounts) Unified() bool { return l.Book.Unified && l.Book.Host != nil }

// Alive is how many handles of a kind are surely alive; nil when nobody counted
// them.
func (l *Accounts) Alive(column string) []float64 {
	if l.Cols[column] == nil {
		return nil
	}
	// Each call that the capture missed may have been the end of a handle.
	return stat.Minus(l.Cols[column], l.Cols[record.ColCaptureLost])
}

// Rise is by how much a column rose from a row on; NaN when it is unknown.
func (l *Accounts) Rise(column string, from int) float64 {
	v := l.Cols[column]
	if v == nil {
		return math.NaN()
	}
	return stat.Rise(v[from:])
}

// Compiled is how many shapes or pipelines were new from a row on; 0 when
// neither is counted.
func (l *Accounts) Compiled(from int) float64 {
	n := 0.
	for _, c := range [...]string{record.ColShapes, record.ColPipelines} {
		if r := l.Rise(c, from); r > n {
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
// allocations: it rises, equals allocs throughout, and live bytes stay.
func runningTotal(count, allocs, live []float64) bool {
	if count == nil || allocs == nil || live == nil {
		return false
	}
	var both []float64 // counts of the rows that have allocs as well
	for i := range count {
		if count[i] != count[i] || allocs[i] != allocs[i] {
			continue
		}
		if count[i] != allocs[i] {
			return false
		}
		both = append(both, count[i])
	}
	if len(both) < 3 || both[len(both)-1] <= both[0] {
		return false
	}
	held := stat.Known(live)
	return stat.Quantile(held, .9) <= 2*stat.Quantile(held, .3)
}

// AccountWords are the accounts in a sentence.
var AccountWords = map[Key]string{
	Live: "memory the program still references", Count: "the number of live handles",
	Idle:      "idle memory kept by the pool",
	Untracked: "device memory outside the program and its pool", Host: "host memory",
	Heap: "the program's heap", Device: "device memory",
}

const mib = 1 << 20
