package cause

import (
	"math"
	"sort"
	"strings"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

const (
	kib = 1 << 10
	mib = 1 << 20
)

// Case is one process after its judgement. The rules read it and change nothing.
// Of several series Grows points at one, so that a Case is not copied.
type Case struct {
	Class      account.Class
	Confidence float64 // in the class
	Size       float64 // the growth or leftover that the class is about, in bytes or things
	Grows      *Series // the one the class is about, a field of this Case; nil for none

	// What the class rests on; none of the three where it rests on size alone.
	ByTrend    bool
	ByLeftover bool
	Refill     string // what was seen of a pool that fills again and again
	Workers    string // what was seen of workers that nobody ends

	// The series that are tested for growth. Handles are the driver's, of Kind.
	Live, Count, Idle, Untracked, Host, Heap, InFlight, Refs, Device, Handles Series

	Kind account.HandleKind

	Judged  Rows // those the trend is judged on
	Whole   Rows // all of the process
	Short   bool // too few rows for a trend
	Unified bool // device bytes are known to be part of the footprint
	// IdleCount is how many buffers the pool kept at the last mark released; NaN unknown.
	IdleCount float64
	// Drained: the device had nothing to do when everything was released.
	Drained bool

	What      string // what grows, as the subject of a sentence
	WhoseHost string // whose the host memory that grows is, as the end of a sentence
	TouchedBy string // the library that first touched most of the host's new pages; empty of none
	// HeapKeeps is by how much the bytes rose that the C library's heap keeps free, while
	// the host grew; 0 where nobody told.
	HeapKeeps float64

	Meta         record.Meta
	BuffersLimit float64        // how many buffers the device allows, NaN when nobody told
	Receipts     []record.Event // those with a receipt, in order of time
	Exiting      float64        // when the program began to end, in ms; +Inf when it did not say
	Sites        []record.Site
	DriverSites  []record.Site // those that asked the driver, for memory and for handles
	Holders      []record.Holder
	// Gains are, by path and the name of a graph, the bytes that holders gained over the rows
	// judged, at the rate of the looks at them: a holder's own are often of a part alone.
	Gains map[string]float64
	// MostOf is the holder of most of the things that came, where their number grows; nil of none.
	MostOf *record.Holder
	// Recording is the program's profiler that recorded while it grew; nil of none.
	Recording *Recording
	// Compilations are the lines of the program that had code compiled while it grew.
	Compilations []Compilation
	// Pools are those of the allocator at the last time that it told them.
	Pools []record.Pool
	// Threads are how many came while host memory grew with them, and ThreadBytes what it
	// grew by for each; 0 where it does not.
	Threads, ThreadBytes float64
	Leftover             float64 // bytes that matter when they are left over, or given back
}

// Series is one series of a process: its values, and what was found of them. A
// series that nobody recorded is nil.
type Series struct {
	trend.Growth
	Judged, Whole []float64 // by row
	Left          float64   // beyond the baseline at the last mark released; NaN when unknown
}

// Rows are rows of the process.
type Rows struct {
	trend.Axes
	Clock   []float64 // seconds as recorded, pauses and all
	Columns map[string][]float64
}

// advance is by how much a running total rose over the rows judged for the series
// that grows; NaN when it is unknown.
func (c *Case) advance(column string) float64 {
	return stat.Rise(c.since(column))
}

// since is a column over the rows judged for the series that grows; nil when it is
// unknown.
func (c *Case) since(column string) []float64 {
	v := c.Judged.Columns[column]
	if v != nil && c.Grows != nil {
		return v[c.Grows.From:]
	}
	return v
}

// alive is since of a number of handles, until the program gave most of them back in its last rows: the
// driver may keep what they took until the program ends.
func (c *Case) alive(column string) []float64 {
	v := c.since(column)
	most, at := math.Inf(-1), 0
	for i, n := range v {
		if n >= most { // not of what is unknown
			most, at = n, i
		}
	}
	if last := stat.Known(v); len(last) == 0 || last[len(last)-1] > most/2 || at < len(v)-len(v)/lastRows {
		return v
	}
	return v[:at+1]
}

// lastRows is the part of the rows in which a program winds up.
const lastRows = 8

// total is by how much a running total rose over all judged rows.
func (c *Case) total(column string) float64 { return stat.Rise(c.Judged.Columns[column]) }

// untilJudged is how many rows there are until the last one judged for a trend:
// what the program gives up at its end tells nothing of what it gave up at work.
func (c *Case) untilJudged() int {
	if len(c.Judged.Clock) == 0 {
		return 0
	}
	return sort.SearchFloat64s(c.Whole.Clock, c.Judged.Clock[len(c.Judged.Clock)-1]) + 1
}

// maybeMetal reports whether the device may be Metal's, which alone has
// autorelease pools and a ceiling of buffers: it says so, or nobody said.
func (c *Case) maybeMetal() bool { return MaybeMetal(&c.Meta) }

// MaybeMetal is the same of what a run says of itself.
func MaybeMetal(m *record.Meta) bool {
	switch d := strings.ToLower(m.Driver); d {
	case "":
		return m.OS == "" || strings.HasPrefix(m.OS, "darwin")
	case "apple", "soft", "metal", "mps":
		return true
	}
	return false
}

// leastLaunches is how many launches, releases or requests of a pool tell a rate.
const leastLaunches = 50

// gained are the bytes that a holder gained: its own, or more where the looks tell.
func (c *Case) gained(h *record.Holder) float64 {
	return max(float64(h.Bytes), min(c.Gains[h.Path+h.Graph], c.Size))
}

// wasReached reports whether names of the program's reached part of so many
// bytes while it ran: it was no garbage then. A look may be long past when the
// program ends, so a small part will do.
func (c *Case) wasReached(bytes float64) bool {
	const part = .05
	var gone float64
	for _, h := range c.Holders {
		if h.Gone && !h.Host {
			gone += max(float64(h.Bytes), c.atItsPace(&h))
		}
	}
	return gone >= part*bytes
}

// atItsPace is what came to a holder of arrays without a graph, had it come as fast as until
// the last look while the program was judged; 0 where that is unknown.
func (c *Case) atItsPace(h *record.Holder) float64 {
	clock := c.Judged.Clock
	if h.Graphs || h.Graph != "" || h.OverMs <= 0 || len(clock) == 0 {
		return 0
	}
	return float64(h.Bytes) * max(1, 1000*(clock[len(clock)-1]-clock[0])/h.OverMs)
}
