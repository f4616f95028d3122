package tui

import (
	"math"
	"slices"
	"time"
)

// shownEvents and shownOutput are how much of the lists a frame carries.
const (
	shownEvents = 300
	shownOutput = 300
)

// frame is the present. The lock is held.
func (f *Feed) frame(now time.Time) *Frame {
	began := f.o.Now()
	f.number++
	nan := math.NaN()
	fr := &Frame{
		Number: f.number, Skipped: f.skipped, State: f.state(now), Name: f.o.Name, Meta: *f.live.Meta(),
		Path:      f.o.Path,
		ElapsedMs: f.elapsed, Rows: f.rows, RowRate: f.rate.read(now, float64(f.rows)), Phase: f.phase,
		Step: nan, StepRate: nan, Chosen: -1, View: *f.view.Load(), Unified: f.live.Unified(),
		Now: unknownValues(), Start: unknownValues(), Marked: unknownValues(), Mark: f.mark,
		Pool:   unknownPool(),
		Events: tail(f.events, shownEvents), Sites: f.sites, Holders: f.holders, Classes: f.classes,
		Output: tail(f.output, shownOutput), Machine: f.devices, Composition: f.composition,
	}
	fr.Done = f.ended
	if f.play != nil {
		p := *f.play
		fr.Play = &p
	}
	chosen := f.chosen()
	for x := range f.live.All() {
		p := f.track(x)
		if p == chosen {
			fr.Chosen = len(fr.Processes)
		}
		fr.Processes = append(fr.Processes, p.listed(f.live.Ended(x, f.elapsed), f.ended))
	}
	if chosen != nil {
		f.choose(fr, chosen)
	}
	fr.Health = f.health(now)
	f.cost = f.o.Now().Sub(began)
	return fr
}

// chosen is the process the view is of: the one asked for, else the main one,
// else the one that holds most. The lock is held.
func (f *Feed) chosen() *tracked {
	if p := f.of(f.view.Load().PID); p != nil && p.PID != 0 {
		return p
	}
	if p := f.of(f.live.Meta().PID); p != nil {
		return p
	}
	unified := f.live.Unified()
	var most *tracked
	for x := range f.live.All() {
		p := f.track(x)
		if most == nil || total(&p.all.now, unified) > total(&most.all.now, unified) {
			most = p
		}
	}
	return most
}

// choose fills in what a frame shows of one process.
func (f *Feed) choose(fr *Frame, p *tracked) {
	fr.Step, fr.Pool, fr.Judged = p.step, p.pool, p.Judged
	_, fr.StepRate = p.rates()
	for n := range p.devices {
		fr.Devices = append(fr.Devices, n)
	}
	slices.Sort(fr.Devices)
	l := p.all
	if d := p.devices[fr.View.Device]; d != nil {
		l = d
		fr.Now, fr.Start, fr.Marked = hostOf(d.now, p.all.now), hostOf(d.start, p.all.start),
			hostOf(d.marked, p.all.marked)
	} else {
		fr.View.Device = AllDevices
		fr.Now, fr.Start, fr.Marked = l.now, l.start, l.marked
	}
	if at, over := p.workedUntil(), f.ended || f.live.Ended(p.Process, f.elapsed); over && known(at) {
		fr.Now, fr.AtWork = hostOf(l.history.at(at), p.all.history.at(at)), true
	}
	fr.View.PID = p.PID
	fr.Chart = f.chart(fr.View, l)
	from, to := fr.Chart.FromMs, fr.Chart.ToMs
	for _, v := range l.history.columns(from, to, sparkColumns) {
		for s := range fr.Spark {
			fr.Spark[s] = append(fr.Spark[s], v[s])
		}
	}
}

// hostOf is a device's values with the process's host, which belongs to none.
func hostOf(device, all values) values {
	device.fill(&all)
	return device
}

// chart is the window of the view. The lock is held.
func (f *Feed) chart(v View, l *ledger) Chart {
	_, last := l.history.span()
	c := Chart{ToMs: v.ToMs, LengthMs: last}
	if !known(c.ToMs) {
		c.ToMs = last
	}
	if !known(c.ToMs) {
		c.ToMs = 0
	}
	if v.SpanMs > 0 {
		c.FromMs = math.Max(c.ToMs-v.SpanMs, 0)
	}
	c.Columns = l.history.columns(c.FromMs, c.ToMs, v.Columns)
	for _, m := range f.marks {
		if m.AtMs >= c.FromMs && m.AtMs <= c.ToMs {
			c.Marks = append(c.Marks, m)
		}
	}
	return c
}

// listed is what the list of processes shows.
func (p *tracked) listed(ended, over bool) Process {
	bytes, _ := p.rates()
	s := seriesFootprint
	if !known(p.all.now[s]) {
		s = seriesRSS
	}
	if known(p.all.now[seriesGPU]) && !known(p.all.now[s]) {
		s = seriesGPU
	}
	now := p.all.now
	if at := p.workedUntil(); (ended || over) && known(at) {
		now = p.all.history.at(at)
	}
	return Process{
		PID: p.PID, Name: p.Name, Gone: ended, Now: now, Start: p.all.start, Rate: bytes,
		Spark: p.spark(s), Judged: p.Judged, Facts: p.facts,
	}
}

// workedUntil is the time until which the verdict judged the process, NaN without
// one: what follows is how it gave everything up.
func (p *tracked) workedUntil() float64 {
	if v := p.Judged.Verdict; v != nil && v.Window.ToMs > 0 {
		return v.Window.ToMs
	}
	return math.NaN()
}

// spark is a short line of a series, remade when the rows have doubled or a
// hundredth more time has passed; among many processes it is most of a frame.
func (p *tracked) spark(s series) []float64 {
	if p.sparkLine == nil || p.Count > p.sparkAt+p.sparkAt/100 {
		p.sparkLine, p.sparkAt = p.all.history.line(s, sparkColumns/2), p.Count
	}
	return p.sparkLine
}

func (f *Feed) state(now time.Time) State {
	switch {
	case f.ended:
		return Ended
	case f.rows == 0:
		return Waiting
	case f.play != nil:
		return Playing
	case f.o.State == Recording && now.Sub(f.lastRow) > silentAfter:
		return Silent
	}
	return f.o.State
}

// health reads how the tool itself does. The lock is held.
func (f *Feed) health(now time.Time) Health {
	nan := math.NaN()
	h := Health{
		CPU: nan, RSS: nan, LastRowMs: f.elapsed, Missed: nan, LostRows: nan,
		LookCost: f.lookCost, FrameCost: f.cost, Warnings: f.warnings, Fault: f.fault,
	}
	if !f.lastRow.IsZero() && !f.ended {
		h.SilentFor = now.Sub(f.lastRow)
	}
	if f.o.Missed != nil {
		missed, lost := f.o.Missed()
		h.Missed, h.LostRows = float64(missed), float64(lost)
	}
	if s := f.live.Meta().Sampling; s != nil {
		h.Missed, h.LostRows = float64(s.Missed), float64(s.LostRows)
	}
	if f.o.Usage == nil {
		return h
	}
	if now.Sub(f.usageAt) >= time.Second {
		f.usage, f.usageAt = f.o.Usage(), now
	}
	h.CPU = f.cpu.read(f.usageAt, f.usage.CPU.Seconds())
	if f.usage.RSS >= 0 {
		h.RSS = float64(f.usage.RSS)
	}
	return h
}
