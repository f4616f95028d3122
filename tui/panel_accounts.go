package tui

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
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
		return p.box(panelAccounts, panelNames[panelAccounts], p.focused,
			[]string{"", " No sample yet."}, w, h)
	}
	table := p.table(w)
	chart := h - 1 - len(table)
	if chart < 5 && len(table) > 5 { // little room: the numbers say more
		table = table[:max(min(len(table), h-1), 0)]
		chart = h - 1 - len(table)
	}
	body := append(p.charts(w, chart), table...)
	return p.box(panelAccounts, p.name(), p.focused, body, w, h)
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
		return stacked{p.styles, c, p.bandsOf(c.Columns, device, host), name}.Render(w, h)
	}
	device := len(p.bandsOf(c.Columns, true, false)) > 0
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
		left := stacked{p.styles, c, p.bandsOf(c.Columns, true, false), " device"}.Render(w/2-1, h)
		host := stacked{p.styles, c, p.bandsOf(c.Columns, false, true), " host"}.Render(w-w/2-1, h)
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

// leastCache is how much of the page cache has a line, in bytes: each program has some
// of it for its code.
const leastCache = 64 << 20

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
				return units.Unknown
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
	at := "now"
	if f.AtWork {
		at = "last"
	}
	now := tableColumn{head: at, width: 9, left: false,
		text: func(s series, _ *verdict.AccountRow) string { return units.Bytes(f.Now[s]) }}
	change := tableColumn{head: since, width: 10, left: false,
		text: func(s series, _ *verdict.AccountRow) string { return units.Growth(f.Now[s] - base[s]) }}
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

// tableLine is a line of the table: an account, a sum of accounts, or a part of one.
type tableLine struct {
	fill  string
	token token
	name  string
	of    series
	row   *verdict.AccountRow
}

// rows are the lines of which the value is known, and the names of the accounts that
// nobody tells.
func (p accountsPanel) rows(w int) (lines []tableLine, untold []string) {
	f := p.frame
	for s := range series(len(accountNames)) {
		row := p.row(accountNames[s])
		if !known(f.Now[s]) && (row == nil || row.Bytes == nil) {
			untold = append(untold, string(accountNames[s]))
			continue
		}
		lines = append(lines, tableLine{p.fill(s), accountTokens[s], string(accountNames[s]), s, row})
	}
	if known(f.Now[seriesGPU]) {
		lines = append(lines, tableLine{"Σ", plain, "gpu", seriesGPU, nil})
	}
	if known(f.Now[seriesFootprint]) {
		lines = append(lines, tableLine{"Σ", plain, "footprint", seriesFootprint, nil})
	}
	if f.Now[seriesCache] >= leastCache { // no part of the sum above it
		lines = append(lines, tableLine{"·", dim, "file cache", seriesCache, nil})
	}
	if known(f.Now[seriesHeap]) && w >= 100 {
		lines = append(lines, tableLine{"·", plain, "heap", seriesHeap, nil})
	}
	return lines, untold
}

// table is a line an account with fill, value, change, rates and shape. A column that
// says nothing of any account is left out, and so is an account that nobody tells: one
// line names those.
func (p accountsPanel) table(w int) []string {
	rows, untold := p.rows(w)
	columns := slices.DeleteFunc(p.columns(w), func(c tableColumn) bool {
		return !slices.ContainsFunc(rows, func(r tableLine) bool {
			text := c.text(r.of, r.row)
			return text != "" && text != units.Unknown
		})
	})
	head := fit("   account", accountWidth)
	for _, c := range columns {
		head += align(c, c.head)
	}
	lines := []string{p.paint(dim, head)}
	for _, r := range rows {
		text := " " + p.paint(r.token, r.fill) + " " + fit(r.name, 10)
		for _, c := range columns {
			cell := c.text(r.of, r.row)
			if cell == units.Unknown && r.row == nil { // a sum has no rate of its own
				cell = ""
			}
			text += align(c, cell)
		}
		lines = append(lines, text)
	}
	if untold != nil {
		lines = append(lines, p.paint(dim, cut("   not told: "+strings.Join(untold, ", "), w)))
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
		return units.Unknown
	case row.Shape == trend.Growing:
		return "↑ " + string(row.Shape)
	}
	return string(row.Shape)
}

// countOf is the number of handles of an account that has them.
func countOf(f *Frame, s series) string {
	switch s {
	case seriesLive:
		return units.Whole(f.Now[seriesLiveCount])
	case seriesIdle:
		return units.Whole(f.Now[seriesIdleCount])
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
	share := units.Percent(used / limit)
	return strings.TrimSpace(fmt.Sprintf("%s of %s of %s", share, units.Bytes(limit), name))
}
