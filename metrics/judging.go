package metrics

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

const (
	// mostRows bounds the rows that are kept of a process.
	mostRows = 1024
	// firstRows is how many rows come before the first look at a run, as on
	// the live screen; onlineRows before the first of a Monitor.
	firstRows  = 40
	onlineRows = 120
	// settledRows is when a Monitor has looked twice: its silence then says
	// that nothing surely grows.
	settledRows = 150
	// lookFactor is how much longer a process must have been watched for
	// another look.
	lookFactor = 1.25
	// lookEvery is between two rounds of looks at least; lookShare is the part
	// of a core, one in so many, that they may take.
	lookEvery = 250 * time.Millisecond
	lookShare = 50
)

// Judge looks at the processes until ctx is done.
func (b *Book) Judge(ctx context.Context) {
	for {
		began := time.Now()
		b.look(false)
		select {
		case <-ctx.Done():
			return
		case <-time.After(min(max(lookEvery, lookShare*time.Since(began)), 10*time.Second)):
		}
	}
}

// Finish judges all processes by all their rows, once Judge has returned.
func (b *Book) Finish() { b.look(true) }

// look judges the processes that are due, or all.
func (b *Book) look(all bool) {
	alarms := b.alarms()
	for _, e := range b.due(all) {
		b.judge(e)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for pid, e := range b.procs {
		switch {
		case e.dead:
			e.verdict = nil
		case b.monitor == nil:
			e.verdict = e.judged
		default:
			e.verdict = e.watched(alarms[pid])
		}
	}
}

// alarms gives the Monitor what came and takes its alarms.
func (b *Book) alarms() map[int]*verdict.Verdict {
	if b.monitor == nil {
		return nil
	}
	b.mu.Lock()
	pending, gone := b.pending, b.gone
	b.pending, b.gone = nil, nil
	b.mu.Unlock()
	for _, r := range pending {
		b.monitor.Add(r.pid, r.tMs, r.cells...)
	}
	for _, pid := range gone {
		b.monitor.Forget(pid)
	}
	out := map[int]*verdict.Verdict{}
	for _, a := range b.monitor.Look() {
		out[a.PID] = a.Verdict
	}
	return out
}

func (b *Book) due(all bool) (list []*entry) {
	least := firstRows
	if b.monitor != nil {
		least = onlineRows
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.procs {
		if e.seen > e.judgedAt && (all || e.seen >= least && e.lastMs >= e.nextMs) {
			list = append(list, e)
		}
	}
	return list
}

// judge looks at one process. Only the copying holds the lock.
func (b *Book) judge(e *entry) {
	b.mu.Lock()
	run := &record.Run{Meta: b.meta, Samples: e.past.Samples()}
	for _, ev := range b.events {
		if ev.PID == 0 || ev.PID == e.pid {
			run.Events = append(run.Events, ev)
		}
	}
	e.judgedAt, e.nextMs = e.seen, e.firstMs+(e.lastMs-e.firstMs)*lookFactor
	b.mu.Unlock()
	v := verdict.Judge(run, b.o.Judging)
	if row, ok := b.unowned(e, v); ok {
		v.Accounts = append(v.Accounts, row)
	}
	if f := b.forecast(e); f != nil && (v.Forecast == nil || f.P50 < v.Forecast.P50) {
		v.Forecast = f
	}
	b.mu.Lock()
	e.judged = v
	b.mu.Unlock()
}

// watched is the verdict on a process that a Monitor watches: its alarm, or
// that it raises none, which has no probability. The growth is the engine's.
func (e *entry) watched(alarm *verdict.Verdict) *verdict.Verdict {
	v := verdict.Verdict{Schema: 1, Verdict: verdict.None}
	switch {
	case alarm != nil:
		v = *alarm
	case e.seen < settledRows:
		v.Verdict = verdict.Undecided
	}
	if e.judged == nil {
		return &v
	}
	v.Accounts = e.judged.Accounts
	if alarm != nil {
		v.Forecast = e.judged.Forecast
	}
	return &v
}

// unowned is the growth of device bytes whose owner nobody tells: the engine
// judges it, and has no account for it. It stands under untracked, as the bytes
// do.
func (b *Book) unowned(e *entry, v *verdict.Verdict) (row verdict.AccountRow, ok bool) {
	for _, a := range v.Accounts {
		if a.Account != verdict.Host {
			return row, false
		}
	}
	b.mu.Lock()
	known := e.past.Column(record.ColGPU) != nil
	samples := alone(&e.past, record.ColGPU)
	b.mu.Unlock()
	if !known {
		return row, false
	}
	for _, a := range verdict.Judge(&record.Run{Samples: samples}, b.o.Judging).Accounts {
		if a.Account == verdict.Live {
			a.Account = verdict.Untracked
			return a, true
		}
	}
	return row, false
}

// forecast says when the first limit that a process grows into is reached, by
// what all use of it now: the engine knows one limit of a run, and what the
// process itself uses.
func (b *Book) forecast(e *entry) (first *verdict.Forecast) {
	for _, l := range b.o.Limits {
		for n, samples := range b.usesOf(e, l.Column) {
			capacity, used, ok := l.Device(n)
			if !ok {
				continue
			}
			f := reaches(verdict.Judge(&record.Run{Samples: samples}, b.o.Judging), l.Name, capacity, used)
			if f != nil && (first == nil || f.P50 < first.P50) {
				first = f
			}
		}
	}
	return first
}

// usesOf is what a process had of a column, by device, as live bytes.
func (b *Book) usesOf(e *entry, column string) map[int]*record.Samples {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := map[int]*record.Samples{}
	for _, name := range e.past.Names() {
		if base, n, of := record.SplitDevice(name); of && base == column {
			out[n] = alone(&e.past, name)
		}
	}
	if len(out) == 0 && e.past.Column(column) != nil {
		out[0] = alone(&e.past, column)
	}
	return out
}

// alone is a copy of one column as live bytes: for the engine to say how it
// grows.
func alone(rows *record.Thinned, column string) *record.Samples {
	names, values := []string{record.ColTime}, [][]float64{slices.Clone(rows.Column(record.ColTime))}
	if v := rows.Column(column); v != nil {
		names, values = append(names, record.ColLive), append(values, slices.Clone(v))
	}
	return record.NewSamples(names, values)
}

// Quantiles of the standard normal distribution: 80 and 95 % lie between them.
const z80, z95 = 1.2816, 1.9600

// reaches says when what grows by a verdict fills the rest of a limit, nil when
// nothing surely grows.
func reaches(v *verdict.Verdict, limit string, capacity, used int64) *verdict.Forecast {
	rate, variance := 0., 0.
	for _, a := range v.Accounts {
		if a.Account == verdict.Host || a.PerSecond == nil || a.Shape != trend.Growing {
			continue
		}
		sd := (a.PerSecond.High - a.PerSecond.Low) / (2 * z95)
		rate, variance = rate+a.PerSecond.Value, variance+sd*sd
	}
	sd, left := math.Sqrt(variance), float64(capacity-used)
	const century = 100 * 365 * 86400
	if rate-z95*sd <= 0 || left <= 0 || left/rate > century {
		return nil
	}
	return &verdict.Forecast{
		Limit: limit, CapacityBytes: capacity,
		P10: left / (rate + z80*sd), P50: left / rate, P90: left / (rate - z80*sd),
	}
}
