package verdict

import (
	"math"
	"sort"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/tracer/record"
)

// firstOf is the process that started the others: the one that was seen first.
func firstOf(all []*settled) *settled {
	var first *settled
	for _, s := range all {
		if len(s.Whole.Clock) > 0 && (first == nil || s.Whole.Clock[0] < first.Whole.Clock[0]) {
			first = s
		}
	}
	return first
}

// moment is what the processes held at one time.
type moment struct {
	held   account.Change // NaN is what no process told
	bytes  float64
	living int
	untold map[int]bool // by pid: there, and nothing is known of them
}

// treeOf is what the processes together changed by over the span of the process that
// the verdict is about; nil of one process, and where the span is not known.
func treeOf(all []*settled, m *Measured) *Tree {
	if len(all) < 2 || m == nil || m.FromMs == nil || m.ToMs == nil {
		return nil
	}
	first, last := momentOf(all, *m.FromMs/1000), momentOf(all, *m.ToMs/1000)
	for pid := range last.untold {
		first.untold[pid] = true
	}
	t := &Tree{FromMs: *m.FromMs, ToMs: *m.ToMs, Bytes: int64(math.Round(last.bytes - first.bytes)),
		Processes:      Living{first.living, last.living, mostLiving(all)},
		FootprintBytes: changed(first.held.Footprint, last.held.Footprint),
		DeviceBytes:    changed(first.held.Device, last.held.Device), Untold: len(first.untold)}
	from, to := byAccount(&first.held), byAccount(&last.held)
	for i, name := range series.AccountNames {
		if c := changed(from[i], to[i]); c != nil {
			t.Accounts = append(t.Accounts, TreeShare{name, *c})
		}
	}
	return t
}

// byAccount are the parts in the order of accountNames.
func byAccount(c *account.Change) [len(series.AccountNames)]float64 {
	return [...]float64{c.Live, c.Idle, c.Untracked, c.Host}
}

// changed is the difference of two sums, of which a part that no process told at one
// of the times was nothing then; nil where it was told at neither.
func changed(from, to float64) *int64 {
	if from != from && to != to {
		return nil
	}
	return whole(stat.Part(to) - stat.Part(from))
}

// momentOf is what all processes held at a time, in seconds of the clock.
func momentOf(all []*settled, at float64) moment {
	n := math.NaN()
	m := moment{untold: map[int]bool{}, held: account.Change{Footprint: n,
		Row: account.Row{Device: n, Live: n, Idle: n, Untracked: n, Host: n}}}
	add := func(to *float64, v float64) {
		if v == v {
			*to = stat.Part(*to) + v
		}
	}
	for _, s := range all {
		if !thereAt(&s.Examined.Process, at) {
			continue
		}
		m.living++
		c, ok := heldAt(&s.Examined.Process, at)
		if !ok {
			m.untold[s.PID] = true
			continue
		}
		add(&m.held.Device, c.Device)
		add(&m.held.Live, c.Live)
		add(&m.held.Idle, c.Idle)
		add(&m.held.Untracked, c.Untracked)
		add(&m.held.Host, c.Host)
		add(&m.held.Footprint, c.Footprint)
		if sum, ok := s.Whole.Book.Measured(c); ok {
			m.bytes += sum
		}
	}
	return m
}

// between is how far apart in time the rows of a process are that was there all the
// while, in seconds.
func between(p *series.Process) float64 {
	const least, rows = .1, 3
	return math.Max(least, rows*p.Lived()/math.Max(1, float64(len(p.Whole.Clock)-1)))
}

// thereAt reports whether the process was seen around a time.
func thereAt(p *series.Process, at float64) bool {
	c := p.Whole.Clock
	return len(c) > 0 && at >= c[0]-between(p) && at <= c[len(c)-1]+between(p)
}

// heldAt is what the process held at a time, by the last row up to then that knows
// it, else by the first one after.
func heldAt(p *series.Process, at float64) (account.Change, bool) {
	const slack = 1e-6 // seconds, for what arithmetic does to a time
	c, book := p.Whole.Clock, p.Whole.Book
	next := sort.Search(len(c), func(i int) bool { return c[i] > at+slack })
	for i := next - 1; i >= 0; i-- {
		if held, ok := book.Held(i); ok {
			return held, true
		}
	}
	for i := next; i < len(c); i++ {
		if held, ok := book.Held(i); ok {
			return held, true
		}
	}
	return account.Change{}, false
}

// mostLiving is the largest number of processes that were there at once.
func mostLiving(all []*settled) int {
	type edge struct {
		at   float64
		more int
	}
	var edges []edge
	for _, s := range all {
		if n := len(s.Whole.Clock); n > 0 {
			edges = append(edges, edge{s.Whole.Clock[0], 1}, edge{s.Whole.Clock[n-1], -1})
		}
	}
	// Of the same time the beginnings count first: both were there then.
	sort.Slice(edges, func(a, b int) bool {
		return edges[a].at < edges[b].at || edges[a].at == edges[b].at && edges[a].more > edges[b].more
	})
	most, now := 0, 0
	for _, e := range edges {
		now += e.more
		most = max(most, now)
	}
	return most
}

// lastHeld is what the process held when it was last seen, in bytes: host memory and
// the device's beside it; nil where nothing told.
func lastHeld(p *series.Process) *int64 {
	n := len(p.Whole.Clock)
	if n == 0 {
		return nil
	}
	c, ok := heldAt(p, p.Whole.Clock[n-1])
	if !ok {
		return nil
	}
	sum, ok := p.Whole.Book.Measured(c)
	if !ok {
		return nil
	}
	return whole(sum)
}

// leftBehind are the processes that the recording says were left behind, in the order
// in which they stand there, each once.
func leftBehind(all []*settled, events []record.Event) []LeftRow {
	var rows []LeftRow
	seen := map[int]bool{}
	of := map[int]*settled{}
	for _, s := range all {
		of[s.PID] = s
	}
	for i := range events {
		e := &events[i]
		if e.Kind != record.KindLeft || seen[e.PID] {
			continue
		}
		seen[e.PID] = true
		row := LeftRow{PID: e.PID, Name: e.Name}
		if s := of[e.PID]; s != nil && len(s.Whole.Clock) > 0 {
			if held, ok := heldAt(&s.Examined.Process, s.Whole.Clock[len(s.Whole.Clock)-1]); ok {
				row.FootprintBytes, row.DeviceBytes = whole(held.Footprint), whole(held.Device)
			}
		}
		rows = append(rows, row)
	}
	return rows
}
