package tui

import (
	"math"
	"strings"
	"unicode"

	"github.com/gpumem/gpumem/report/account"
	liveset "github.com/gpumem/gpumem/report/live"
	"github.com/gpumem/gpumem/tracer/record"
)

const (
	someProcesses = 64
	maxDevices    = 64
	sparkColumns  = 24
	rateRows      = 32 // rows over which a present rate is taken
	rateSpanMs    = 2000
	maxNameLength = 4096
)

// room is how much is kept of a process: buckets of its history, which the
// chart is drawn from, and rows, which its verdict is reached from.
type room struct{ buckets, rows int }

// roomOf is the room of one more process beside n: so much that hundreds fit
// into the memory of a few.
func roomOf(n int) room {
	switch {
	case n < liveset.FewProcesses:
		return room{16384, 4096}
	case n < someProcesses:
		return room{512, 1024}
	}
	return room{128, 512}
}

// ledger is one process on one device, or on all.
type ledger struct {
	now, start, marked values
	history            history
}

func newLedger(buckets int) *ledger {
	return &ledger{now: unknownValues(), start: unknownValues(), marked: unknownValues(),
		history: newHistory(buckets)}
}

func (l *ledger) take(tMs float64, row *values) {
	l.now.merge(row)
	copy(l.now[:accountSeries], row[:accountSeries]) // these may have become unknown
	l.start.fill(row)
	l.history.add(tMs, &l.now)
}

// tracked is what the screen keeps of one process beside the live set.
type tracked struct {
	*liveset.Process
	buckets   int
	all       *ledger
	turned    float64 // time of the last change of its verdict that is among the events
	devices   map[int]*ledger
	step      float64
	pool      Pool
	noted     map[string]*float64 // fields of this struct, by column
	before    Pool                // some rows ago
	beforeN   int64
	recent    [rateRows]moment
	sparkLine []float64
	sparkAt   int64
	facts     Facts
}

// moment is a row for present rates.
type moment struct{ tMs, total, step float64 }

func newTracked(of *liveset.Process, r room) *tracked {
	p := &tracked{
		Process: of, buckets: r.buckets, all: newLedger(r.buckets), devices: map[int]*ledger{},
		step: math.NaN(), pool: unknownPool(), before: unknownPool(), facts: unknownFacts(),
	}
	p.noted = notedIn(p)
	return p
}

// process is the process in the live set, nil of none.
func (p *tracked) process() *liveset.Process {
	if p == nil {
		return nil
	}
	return p.Process
}

func unknownPool() Pool {
	n := math.NaN()
	return Pool{n, n, n, n, n, n, n, n, n, n}
}

// take adds the row that the process had last.
func (p *tracked) take(cells []record.Cell, unified bool) {
	tMs, accounts := p.LastMs, p.Accounts()
	row, devices := read(cells, p.note)
	row.charge(accounts.Tells(unified), accounts.Row(unified))
	p.all.take(tMs, &row)
	for n, v := range devices {
		v.charge(account.Tells{}, accounts.Device(n))
		p.device(n).take(tMs, v)
	}
	n := p.Count - 1
	p.recent[n%rateRows] = moment{tMs, total(&p.all.now, unified), p.step}
	if p.Count-p.beforeN >= 2*rateRows {
		p.pool.Lately = hitRate(p.pool.Hits-p.before.Hits, p.pool.Misses-p.before.Misses)
		p.before, p.beforeN = p.pool, p.Count
	}
}

func (p *tracked) device(n int) *ledger {
	l := p.devices[n]
	if l == nil {
		l = newLedger(p.buckets)
		p.devices[n] = l
	}
	return l
}

// read sorts the cells of a row into series, sums over devices where the row
// has only columns of devices, and the values a device. The columns that are no
// series go to note.
func read(cells []record.Cell, note func(column string, x float64)) (values, map[int]*values) {
	row, sums := unknownValues(), unknownValues()
	var devices map[int]*values
	for _, c := range cells {
		x := float64(c.Value)
		base, n, of := deviceColumn(c.Column)
		s, ok := seriesOf(base)
		switch {
		case ok && !of:
			row[s] = x
		case ok && n < maxDevices:
			if devices == nil {
				devices = map[int]*values{}
			}
			if devices[n] == nil {
				v := unknownValues()
				devices[n] = &v
			}
			devices[n][s] = x
			sums[s] = sum(sums[s], x)
		case !of:
			note(c.Column, x)
		}
	}
	row.fill(&sums)
	return row, devices
}

// note takes the columns that are no series.
func (p *tracked) note(column string, x float64) {
	if at := p.noted[column]; at != nil {
		*at = x
	}
}

// notedIn is where the columns that are no series belong.
func notedIn(p *tracked) map[string]*float64 {
	return map[string]*float64{
		record.ColStep: &p.step, record.ColPoolHits: &p.pool.Hits, record.ColPoolMisses: &p.pool.Misses,
		record.ColAllocs: &p.pool.Allocs,
		record.ColFrees:  &p.pool.Frees, record.ColRefs: &p.pool.Refs, record.ColShapes: &p.pool.Shapes,
		record.ColPipelines: &p.pool.Pipelines,
		record.ColCommands:  &p.pool.Commands, record.ColCommandBuffers: &p.pool.CommandBuffers,
	}
}

// charge fills in the accounts.
func (v *values) charge(t account.Tells, r account.Row) {
	r = t.Shown(r)
	v[seriesLive], v[seriesIdle], v[seriesUntracked], v[seriesHost] = r.Live, r.Idle, r.Untracked, r.Host
}

// hitRate is the share of hits, NaN when there was nothing.
func hitRate(hits, misses float64) float64 {
	if n := hits + misses; n > 0 {
		return hits / n
	}
	return math.NaN()
}

// rates are the present growth in bytes and in steps a second.
func (p *tracked) rates() (bytes, steps float64) {
	n := min(p.Count, rateRows)
	if n < 2 {
		return math.NaN(), math.NaN()
	}
	last, first := p.recent[(p.Count-1)%rateRows], p.recent[p.Count%rateRows]
	if p.Count < rateRows {
		first = p.recent[0]
	}
	seconds := (last.tMs - first.tMs) / 1000
	if !(seconds > 0) {
		return math.NaN(), math.NaN()
	}
	return (last.total - first.total) / seconds, (last.step - first.step) / seconds
}

// clean is text of a program without what would move the cursor or hide
// itself: control characters become spaces, broken bytes a mark.
func clean(text string) string {
	if len(text) > maxNameLength {
		text = text[:maxNameLength]
	}
	plain := true
	for i := 0; i < len(text) && plain; i++ {
		plain = text[i] >= 0x20 && text[i] < 0x7f
	}
	if plain {
		return text
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n':
			return ' '
		case r < 0x20 || r >= 0x7f && r < 0xa0:
			return '·'
		case r == 0x2028 || r == 0x2029 || r >= 0xfe00 && r <= 0xfe0f || unicode.Is(unicode.Cf, r):
			// marks that turn the writing, join signs or enclose them: terminals differ in their widths
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
}
