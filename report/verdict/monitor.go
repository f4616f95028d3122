package verdict

import (
	"math"
	"slices"
	"sort"

	"github.com/gpumem/gpumem/report/growth"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// Looks of a Monitor: the first after firstLook rows (a program that sets itself
// up looks like one that leaks), each next one when the
// time watched has grown by lookFactor. Look number k may spend
// lookLevel 6/(pi k)^2 of error, so that all looks together spend lookLevel.
const (
	firstLook  = 120
	lookFactor = 1.25
	leastRows  = 15 // from one look to the next, however far a clock jumps
	lookLevel  = .01
	// falseDiscovery is the part of the processes called growing at one time
	// that may be called so falsely.
	falseDiscovery = .05
	// monitorRows bounds what is kept of a process: when there are as many, each
	// three become their median. Of a day at 1 Hz under noise of 8 MiB that finds
	// a leak of 16 MiB in ten of ten; 4096 rows of which every second went found
	// four, 1024 none.
	monitorRows = 1024
)

// Alarm is one process called growing by two looks in a row, with the same
// account to blame.
type Alarm struct {
	PID     int
	Class   Class   // Undecided when the growth's owner cannot be told
	Account Account // the account that grows
	SinceMs float64 // time of the look that opened it
	P       float64 // of the last look, over all accounts
	Verdict *Verdict
}

// Monitor judges processes while they run: for the live screen and for scans
// of many. It looks at geometric times and spends its error over them, holds
// the false discovery rate over processes, opens an alarm after two looks in
// a row that blame the same account, and closes it when a look no longer
// does. A process takes memory of a bounded size. A Monitor is for one
// goroutine; its answers depend only on what was added, in which order.
type Monitor struct {
	o     Options
	procs map[int]*watched
}

// NewMonitor makes a Monitor that knows no process yet.
func NewMonitor(o Options) *Monitor { return &Monitor{o: o, procs: map[int]*watched{}} }

// watched is what a Monitor keeps of one process.
type watched struct {
	names   []string
	values  [][]float64   // by column; column 0 is the time
	waiting [][][]float64 // by level: rows of which three become one of the next
	fresh   int           // rows since the last look
	lastMs  float64
	seenMs  float64 // time watched; a clock that jumps back adds nothing
	nextMs  float64 // time watched at which the next look is due
	looks   int
	found   series.Key // account blamed by the last look, series.Keys when none
	p       float64
	class   Class // of what was found
	again   bool  // the look before blamed the same account
	alarm   *Alarm
	looked  bool // since the last decision
}

// Add takes one sample of a process, tMs milliseconds on a clock that all its
// samples share. It does not keep cells.
func (m *Monitor) Add(pid int, tMs float64, cells ...record.Cell) {
	w := m.procs[pid]
	if w == nil {
		w = &watched{names: []string{record.ColTime}, values: make([][]float64, 1), lastMs: tMs,
			found: series.Keys, p: 1}
		m.procs[pid] = w
	}
	if tMs > w.lastMs {
		w.seenMs += tMs - w.lastMs
	}
	w.lastMs = tMs
	w.fresh++
	w.put(w.row(tMs, cells))
}

// row is a sample by column; what it has no cell for is unknown.
func (w *watched) row(tMs float64, cells []record.Cell) []float64 {
	row := make([]float64, len(w.names), len(w.names)+len(cells))
	for i := range row {
		row[i] = record.Unknown()
	}
	row[0] = tMs
	for _, c := range cells {
		i := w.column(c.Column)
		if i == len(row) {
			row = append(row, record.Unknown())
		}
		if row[i] != row[i] {
			row[i] = float64(c.Value)
		}
	}
	return row
}

// column is the index of a named column, made with unknown rows when new.
func (w *watched) column(name string) int {
	for i, c := range w.names {
		if c == name {
			return i
		}
	}
	v := make([]float64, len(w.values[0]))
	for i := range v {
		v[i] = record.Unknown()
	}
	w.names, w.values = append(w.names, name), append(w.values, v)
	return len(w.names) - 1
}

// put keeps a row, or the median that it and its neighbours become.
func (w *watched) put(row []float64) {
	for level, rows := range w.waiting {
		if rows = append(rows, row); len(rows) < 3 {
			w.waiting[level] = rows
			return
		}
		row = medianRow(rows[0], rows[1], rows[2])
		w.waiting[level] = rows[:0]
	}
	for i := range w.values {
		w.values[i] = append(w.values[i], at(row, i))
	}
	if len(w.values[0]) >= monitorRows {
		w.third()
	}
}

// third makes one row of each three, and from then on of so many more samples.
func (w *watched) third() {
	for i, v := range w.values {
		n := len(v) / 3
		for k := range n {
			v[k] = medianOf(v[3*k], v[3*k+1], v[3*k+2])
		}
		w.values[i] = v[:n]
	}
	w.waiting = append(w.waiting, nil)
}

// at is a row's value in a column, which may be younger than the row.
func at(row []float64, column int) float64 {
	if column < len(row) {
		return row[column]
	}
	return record.Unknown()
}

// medianRow is the median of three rows, column by column; the last has all
// columns.
func medianRow(a, b, c []float64) []float64 {
	out := make([]float64, len(c))
	for i := range out {
		out[i] = medianOf(at(a, i), at(b, i), c[i])
	}
	return out
}

// medianOf is the median of what is known of three values, of two the lower.
func medianOf(a, b, c float64) float64 {
	v := [...]float64{a, b, c}
	slices.Sort(v[:]) // what is unknown comes first
	if v[1] == v[1] {
		return v[1]
	}
	return v[2]
}

// Forget drops a process and its alarm.
func (m *Monitor) Forget(pid int) { delete(m.procs, pid) }

// Look looks at every process that is due at its own last sample, and returns
// the open alarms in order of pid. It is cheap when none is due.
func (m *Monitor) Look() []Alarm {
	pids := make([]int, 0, len(m.procs))
	for p := range m.procs {
		pids = append(pids, p)
	}
	sort.Ints(pids)
	looked := false
	for _, p := range pids {
		if w := m.procs[p]; w.due() {
			m.look(w)
			looked = true
		}
	}
	if looked {
		m.decide(pids)
	}
	var out []Alarm
	for _, p := range pids {
		if a := m.procs[p].alarm; a != nil {
			out = append(out, *a)
		}
	}
	return out
}

func (w *watched) last() float64 { return w.values[0][len(w.values[0])-1] }

func (w *watched) due() bool {
	return len(w.values[0]) >= firstLook && w.fresh >= leastRows && w.seenMs > 0 && w.seenMs >= w.nextMs
}

// look runs the engine on one process at this look's level.
func (m *Monitor) look(w *watched) {
	w.looks++
	level := lookLevel * 6 / math.Pow(math.Pi*float64(w.looks), 2)
	w.nextMs = w.seenMs * lookFactor
	run := w.run()
	before := w.found
	w.found, w.p, w.looked, w.fresh = series.Keys, 1, true, 0
	for _, s := range judgeAll(run, m.o, trend.ForLook(level)) {
		if p := simes(&s.Examined); p < w.p {
			w.p = p
		}
		if s.primary != series.Keys && s.Grow[s.primary].Growing() {
			w.found, w.class = s.primary, s.class
		}
	}
	w.again = before == w.found && w.found != series.Keys
}

// run is a copy of what is kept of a process, as the engine wants it.
func (w *watched) run() *record.Run {
	values := make([][]float64, len(w.values))
	for i, v := range w.values {
		values[i] = append([]float64(nil), v...)
	}
	return &record.Run{Samples: record.NewSamples(append([]string(nil), w.names...), values)}
}

// simes joins the p-values of a process's accounts into one.
func simes(x *growth.Examined) float64 {
	var p []float64
	for _, k := range series.TestedKeys {
		if g := x.Grow[k]; g.Known {
			p = append(p, g.P)
		}
	}
	p = append(p, x.Tested...)
	sort.Float64s(p)
	least := 1.
	for i, v := range p {
		least = math.Min(least, v*float64(len(p))/float64(i+1))
	}
	return least
}

// decide opens and closes alarms: of the processes whose last look found a
// growth, those that Benjamini and Hochberg's rule lets pass.
func (m *Monitor) decide(pids []int) {
	p := make([]float64, 0, len(pids))
	for _, id := range pids {
		p = append(p, m.procs[id].p)
	}
	sort.Float64s(p)
	limit := 0.
	for i, v := range p {
		if v <= falseDiscovery*float64(i+1)/float64(len(p)) {
			limit = v
		}
	}
	for _, id := range pids {
		w := m.procs[id]
		if !w.looked {
			continue
		}
		w.looked = false
		switch {
		case w.found == series.Keys || w.p > limit:
			w.alarm = nil
		case w.again || w.alarm != nil:
			m.open(id, w)
		}
	}
}

// open opens an alarm or brings it up to date.
func (m *Monitor) open(pid int, w *watched) {
	since := w.last()
	if w.alarm != nil && w.alarm.Account == accountOf(w.found) {
		since = w.alarm.SinceMs
	}
	w.alarm = &Alarm{PID: pid, Class: w.class, Account: accountOf(w.found), SinceMs: since, P: w.p,
		Verdict: Judge(w.run(), m.o)}
}

// accountOf is the account a key belongs to; device bytes of unknown owner
// stand under untracked.
func accountOf(k series.Key) Account {
	switch k {
	case series.Live, series.Count:
		return Live
	case series.Idle:
		return Idle
	case series.Untracked, series.Device, series.Handles:
		return Untracked
	}
	return Host
}
