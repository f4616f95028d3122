package tui

import (
	"fmt"
	"math"
	"strings"

	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// accountsPanel is the four accounts over time, with their values beneath.
type accountsPanel struct {
	*styles
	frame   *Frame
	focused bool
	compare bool // changes since the mark
}

// Render implements the panel.
func (p accountsPanel) Render(w, h int) string {
	f := p.frame
	if f.Chosen < 0 {
		return p.box(panelNames[panelAccounts], p.focused, []string{"", " No sample yet."}, w, h)
	}
	table := p.table(w)
	chart := h - 1 - len(table)
	if chart < 5 && len(table) > 5 { // little room: the numbers say more
		table = table[:max(min(len(table), h-1), 0)]
		chart = h - 1 - len(table)
	}
	body := append(p.charts(w, chart), table...)
	return p.box(p.name(), p.focused, body, w, h)
}

func (p accountsPanel) name() string {
	f, name := p.frame, panelNames[panelAccounts]
	if f.View.Device != AllDevices {
		name += fmt.Sprintf(", device %d", f.View.Device)
	}
	if p.compare && f.Mark != nil {
		name += fmt.Sprintf(", compared with %s at %s", f.Mark.Name, clockText(f.Mark.AtMs, true))
	}
	if whole := f.Chart.FromMs <= 0 && f.Chart.ToMs >= f.Chart.LengthMs; !whole {
		name += fmt.Sprintf(", %s to %s", clockText(f.Chart.FromMs, true), clockText(f.Chart.ToMs, true))
	}
	return name
}

// charts are one chart of all on unified memory, else one a ledger.
func (p accountsPanel) charts(w, h int) []string {
	c := &p.frame.Chart
	one := func(device, host bool, name string, h int) []string {
		return stacked{p.styles, c, bandsOf(c.Columns, device, host), name}.Render(w, h)
	}
	device := len(bandsOf(c.Columns, true, false)) > 0
	switch {
	case h < 4:
		return nil
	case p.frame.Unified:
		return pad(one(true, true, " all", h), h)
	case !device:
		return pad(one(false, true, " host", h), h)
	case h >= 12:
		upper := one(true, false, " device", h-h/2)
		return pad(append(upper, one(false, true, " host", h/2)...), h)
	case w >= 60:
		left := stacked{p.styles, c, bandsOf(c.Columns, true, false), " device"}.Render(w/2-1, h)
		host := stacked{p.styles, c, bandsOf(c.Columns, false, true), " host"}.Render(w-w/2-1, h)
		for i := range min(len(left), len(host)) {
			left[i] = fit(left[i], w/2) + " " + host[i]
		}
		return pad(left, h)
	}
	return pad(one(true, false, " device", h), h)
}

// pad makes a list of lines h long.
func pad(lines []string, h int) []string {
	for len(lines) < h {
		lines = append(lines, "")
	}
	return lines[:h]
}

// tableColumn is a column of the table.
type tableColumn struct {
	head  string
	width int
	left  bool
	text  func(s series, row *verdict.AccountRow) string
	// interval is what a column of rates shows.
	interval func(*verdict.AccountRow) *verdict.Interval
}

const (
	accountWidth  = 13
	intervalWidth = 29
)

// rateColumn shows an interval, with its ends when it is wide enough for them.
func rateColumn(head string, width int, of func(*verdict.AccountRow) *verdict.Interval) tableColumn {
	return tableColumn{head: head, width: width, interval: of,
		text: func(_ series, row *verdict.AccountRow) string {
			switch {
			case row == nil:
				return unknownText
			case width >= intervalWidth:
				return intervalText(of(row))
			}
			return rateText(of(row))
		}}
}

// columns are as many as fit, the most important first; rates have their
// interval where there is room for it.
func (p accountsPanel) columns(w int) []tableColumn {
	f := p.frame
	base, since := &f.Start, "change"
	if p.compare && f.Mark != nil {
		base, since = &f.Marked, "since mark"
	}
	now := tableColumn{head: "now", width: 9, left: false,
		text: func(s series, _ *verdict.AccountRow) string { return bytesText(f.Now[s]) }}
	change := tableColumn{head: since, width: 10, left: false,
		text: func(s series, _ *verdict.AccountRow) string { return deltaText(f.Now[s] - base[s]) }}
	second := rateColumn("per second", 11, func(r *verdict.AccountRow) *verdict.Interval {
		return r.PerSecond
	})
	step := rateColumn("per step", 11, func(r *verdict.AccountRow) *verdict.Interval { return r.PerStep })
	shape := tableColumn{head: "shape", width: 9, left: true,
		text: func(_ series, r *verdict.AccountRow) string { return shapeText(r) }}
	count := tableColumn{head: "count", width: 9, left: false,
		text: func(s series, _ *verdict.AccountRow) string { return countOf(f, s) }}
	spark := tableColumn{head: "over time", width: 14, left: true,
		text: func(s series, _ *verdict.AccountRow) string { return sparkline(f.Spark[s], 14) }}
	out, room := []tableColumn{now, change}, w-accountWidth-now.width-change.width-2
	for _, c := range [...]*tableColumn{&second, &shape, &step, &count, &spark} {
		if room -= c.width + 2; room < 0 {
			break
		}
		out = append(out, *c)
	}
	for i, wide := range [...]tableColumn{rateColumn("per second (95 %)", intervalWidth, second.interval),
		rateColumn("per step (95 %)", intervalWidth, step.interval)} {
		if at := 2 + 2*i; at < len(out) && len(out) == 7 && room >= wide.width-out[at].width {
			room -= wide.width - out[at].width
			out[at] = wide
		}
	}
	return out
}

// table is a line an account with fill, value, change, rates and shape.
func (p accountsPanel) table(w int) []string {
	f, columns := p.frame, p.columns(w)
	head := fit("   account", accountWidth)
	for _, c := range columns {
		head += align(c, c.head)
	}
	lines := []string{p.paint(dim, head)}
	line := func(fill string, t token, name string, s series, row *verdict.AccountRow) {
		text := " " + p.paint(t, fill) + " " + fit(name, 10)
		for _, c := range columns {
			text += align(c, c.text(s, row))
		}
		lines = append(lines, text)
	}
	for s := range series(len(accountNames)) {
		line(accountFills[s], accountTokens[s], string(accountNames[s]), s, p.row(accountNames[s]))
	}
	if known(f.Now[seriesGPU]) {
		line("Σ", plain, "gpu", seriesGPU, nil)
	}
	if known(f.Now[seriesFootprint]) {
		line("Σ", plain, "footprint", seriesFootprint, nil)
	}
	if known(f.Now[seriesHeap]) && w >= 100 {
		line("·", plain, "heap", seriesHeap, nil)
	}
	return lines
}

func align(c tableColumn, text string) string {
	if c.left {
		return "  " + fit(text, c.width)
	}
	return " " + right(text, c.width)
}

// row is what the verdict says of an account.
func (p accountsPanel) row(account record.Account) *verdict.AccountRow {
	v := p.frame.Judged.Verdict
	if v == nil {
		return nil
	}
	for i := range v.Accounts {
		if v.Accounts[i].Account == account {
			return &v.Accounts[i]
		}
	}
	return nil
}

func shapeText(row *verdict.AccountRow) string {
	switch {
	case row == nil || row.Shape == "":
		return unknownText
	case row.Shape == trend.Growing:
		return "↑ " + string(row.Shape)
	}
	return string(row.Shape)
}

// countOf is the number of handles of an account that has them.
func countOf(f *Frame, s series) string {
	switch s {
	case seriesLive:
		return countText(f.Now[seriesLiveCount])
	case seriesIdle:
		return countText(f.Now[seriesIdleCount])
	}
	return ""
}

// pressure is how near the process is to the smallest limit it grows into, in
// words; empty when no limit is known.
func pressure(f *Frame) string {
	limit, used := math.NaN(), math.NaN()
	name := ""
	for _, l := range [...]struct {
		name string
		used float64
	}{
		{record.LimitDevice, f.Now.device()}, {record.LimitCgroup, f.Now[seriesFootprint]},
		{record.LimitHost, f.Now[seriesFootprint]},
	} {
		capacity := float64(f.Meta.CapacityBytes[l.name])
		if capacity > 0 && known(l.used) && !(l.used/capacity <= used/limit) {
			limit, used, name = capacity, l.used, l.name
		}
	}
	if name == "" {
		return ""
	}
	return strings.TrimSpace(fmt.Sprintf("%s of %s of %s", percentText(used/limit), bytesText(limit), name))
}
