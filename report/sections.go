package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

func leftoverSection(v *verdict.Verdict) section {
	t := &table{
		caption: "What each account still held at the mark released beyond the mark baseline.",
		zeros:   "Nothing left over",
		head: []column{{title: "account"}, {title: "left over", right: true},
			{title: "count", right: true}},
	}
	var sum float64
	for _, row := range v.Accounts {
		if row.LeftoverBytes == nil && row.LeftoverCount == nil {
			continue
		}
		if row.LeftoverBytes != nil {
			sum += float64(*row.LeftoverBytes)
		}
		t.rows = append(t.rows, []string{clean(string(row.Account), 40), optBytes(row.LeftoverBytes),
			optCount(row.LeftoverCount)})
	}
	s := section{id: "leftover", title: "Left over"}
	if len(t.rows) > 0 {
		t.foot = [][]string{{"sum", units.Growth(sum), ""}}
		s.blocks = []block{{table: t}}
	}
	return s
}

func driverSection(v *verdict.Verdict) section {
	s := section{id: "driver", title: "What drives it"}
	d := v.DrivenBy
	if d == nil {
		return s
	}
	text := driverText(d)
	if d.And != nil {
		text += ", and " + driverText(d.And)
	}
	text += "."
	if v.Background {
		text += " Growth goes on while steps pause."
	}
	s.blocks = []block{{text: text}}
	return s
}

// driverText is a driver with its cost, and its part where it is one of two.
func driverText(d *verdict.DrivenBy) string {
	unit := strings.ReplaceAll(clean(d.Per, 40), "_", " ")
	cost := intervalText(&d.Interval)
	if d.Of != "" {
		cost = fmt.Sprintf("%+.3g %s", d.Value, clean(d.Of, 40))
	}
	text := fmt.Sprintf("%s with every %s", cost, unit)
	if unit == "second" {
		text = cost + " every second"
	}
	if d.Share != nil {
		text += fmt.Sprintf(" (%.0f %% of it)", 100**d.Share)
	}
	return text
}

func causesSection(v *verdict.Verdict) section {
	s := section{id: "causes", title: "Causes"}
	for _, c := range v.Causes {
		head := clean(c.ID, maxName)
		if c.Confidence > 0 && c.Confidence <= 1 {
			head += fmt.Sprintf(", confidence %.0f %%", 100*c.Confidence)
		}
		if c.Share != nil {
			head += fmt.Sprintf(", %.0f %% of the growth", 100**c.Share) + withoutText(v, *c.Share)
		}
		b := block{head: head}
		for _, e := range c.Evidence {
			b.list = append(b.list, clean(e, maxLine))
		}
		if c.Next != "" {
			b.list = append(b.list, "Next: "+clean(c.Next, maxLine))
		}
		s.blocks = append(s.blocks, b)
		if len(c.Change) > 0 {
			s.blocks = append(s.blocks, block{code: changeText(c.Change)})
		}
	}
	return s
}

// withoutText says what the growth would have been without a cause, where that is not
// next to nothing.
func withoutText(v *verdict.Verdict, share float64) string {
	const rest = .05
	row := primaryRow(v)
	if row == nil || row.Bytes == nil || share > 1-rest {
		return ""
	}
	return fmt.Sprintf("; without it, it would have grown by %s", units.Bytes((1-share)*float64(*row.Bytes)))
}

// changeText is a change of the program as the lines of a patch.
func changeText(lines []string) string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = clean(l, maxLine)
	}
	return strings.Join(out, "\n")
}

// statementsSection ranks the program's statements by the resident memory
// gained in them, when the recording says so.
func statementsSection(run *record.Run) section {
	s := section{id: "statements", title: "Statements"}
	t := &table{
		head: []column{{title: "statement"}, {title: "kind"}, {title: "RSS gained", right: true},
			{title: "times", right: true}},
	}
	n := 0
	for _, e := range run.Events {
		if e.Kind != record.KindStatement || len(e.Detail) == 0 || len(e.Detail) > 4096 {
			continue
		}
		var d struct {
			RSSBytes *int64 `json:"rss_delta_bytes"`
			Count    int64  `json:"count"`
		}
		if json.Unmarshal(e.Detail, &d) != nil || d.RSSBytes == nil {
			continue // a statement's own mark, not a rank
		}
		if n++; n <= maxRows {
			t.rows = append(t.rows, []string{clean(e.At, maxName), clean(e.Name, 40),
				units.Growth(float64(*d.RSSBytes)), units.Count(d.Count)})
		}
	}
	if n > 0 {
		t.caption = captionOf("Change of resident memory from one statement to the next, summed by line", n)
		s.blocks = []block{{table: t}}
	}
	return s
}

// maxRows bounds the rows of a table; the caption says how many there were.
const maxRows = 50

// staysSection shows the lines that asked for what stays, as windows of a few seconds saw it.
func staysSection(v *verdict.Verdict) section {
	s := section{id: "stays", title: "What stays, by the line that asks for it"}
	if len(v.Stays) == 0 {
		return s
	}
	t := &table{name: stayRows, head: []column{{title: "line"}, {title: "stayed", right: true},
		{title: "samples", right: true}, {title: "would come to", right: true}}}
	called := areCalled(v.Stays)
	if called {
		t.head = append(t.head, column{title: "called at"})
	}
	for _, r := range v.Stays[:min(len(v.Stays), maxRows)] {
		row := []string{clean(r.Site, maxName), units.Bytes(r.Bytes), units.Count(r.Count),
			units.Growth(float64(r.GrowthBytes))}
		if called {
			row = append(row, clean(r.Caller, maxName))
		}
		t.rows = append(t.rows, row)
	}
	t.caption = captionOf("What lines asked for in windows of a few seconds and had not given back as long afterwards, "+
		"estimated from samples, and what that would come to over the whole growth", len(v.Stays))
	s.blocks = []block{{table: t}}
	return s
}

// areCalled reports whether of any line it is known who called its function.
func areCalled(rows []verdict.SiteRow) bool {
	return slices.ContainsFunc(rows, func(r verdict.SiteRow) bool { return r.Caller != "" })
}

func sitesSection(v *verdict.Verdict) section {
	s := section{id: "sites", title: "Survivors by allocation site"}
	if len(v.Sites) == 0 {
		return s
	}
	t := &table{name: siteRows, head: []column{{title: "site"}, {title: "held", right: true},
		{title: "count", right: true}}}
	growth := false
	for _, site := range v.Sites {
		growth = growth || site.GrowthBytes != 0
	}
	if growth {
		t.head = append(t.head, column{title: "growth", right: true})
	}
	called := areCalled(v.Sites)
	if called {
		t.head = append(t.head, column{title: "called at"})
	}
	for _, site := range v.Sites[:min(len(v.Sites), maxRows)] {
		row := []string{clean(site.Site, maxName), units.Bytes(site.Bytes), units.Count(site.Count)}
		if growth {
			row = append(row, units.Growth(float64(site.GrowthBytes)))
		}
		if called {
			row = append(row, clean(site.Caller, maxName))
		}
		t.rows = append(t.rows, row)
	}
	if v.Verdict != verdict.DriverGrowth { // of which handles without bytes may be the reason
		t.zeros, t.decides = "Sites of handles without memory of their own, such as events and modules", 1
	}
	caption := "What was allocated at the end, or at the last look if more was then, by the line that allocated it"
	if v.PoolSites {
		caption = "What the pool had taken from the driver at the end, or at the last look if more was then, by the line " +
			"at which it asked; other lines use that memory as well"
	}
	t.caption = captionOf(caption, len(v.Sites))
	s.blocks = []block{{icicle: sitesIcicle(v.Sites), table: t}}
	return s
}

func holdersSection(v *verdict.Verdict) section {
	s := section{id: "holders", title: "Holders"}
	if len(v.Holders) == 0 {
		return s
	}
	t := &table{name: holderRows, zeros: "Holders without bytes", decides: 1,
		head: []column{{title: "held by"}, {title: "bytes", right: true}, {title: "count", right: true}}}
	shown := v.Holders[:min(len(v.Holders), maxRows)]
	filled := slices.ContainsFunc(shown, func(h verdict.HolderRow) bool { return h.Filled != "" })
	if filled {
		t.head = append(t.head, column{title: "filled at"})
	}
	caption := "The references that keep memory alive"
	for _, h := range shown {
		path := clean(h.String(), maxName)
		if h.Host {
			path += ", host memory"
		}
		row := []string{path, units.Bytes(h.Bytes), units.Count(h.Count)}
		if filled {
			row = append(row, clean(h.Filled, maxName))
		}
		t.rows = append(t.rows, row)
		if h.Gone {
			caption = "The references that keep memory alive, or did so when last seen"
		}
	}
	t.caption = captionOf(caption, len(v.Holders))
	s.blocks = []block{{icicle: holdersIcicle(v.Holders), table: t}}
	return s
}

func captionOf(text string, n int) string {
	if n > maxRows {
		return fmt.Sprintf("%s; the first %d of %s.", text, maxRows, units.Count(int64(n)))
	}
	return text + "."
}

func experimentsSection(v *verdict.Verdict) section {
	s := section{id: "experiments", title: "Experiments"}
	if len(v.Experiments) == 0 {
		return s
	}
	t := &table{
		caption: "What each action claimed to free, and what the operating system and the driver really " +
			"got back.",
		head: []column{{title: "action"}, {title: "account"}, {title: "claimed", right: true},
			{title: "returned", right: true}, {title: "GPU returned", right: true},
			{title: "count", right: true}},
	}
	size := func(b *int64) string {
		if b == nil {
			return units.Unknown
		}
		return units.Bytes(*b)
	}
	for _, e := range v.Experiments[:min(len(v.Experiments), maxRows)] {
		account := clean(string(e.Account), 40)
		if account == "" {
			account = units.Unknown
		}
		count := units.Unknown
		if e.Count != nil {
			count = units.Count(*e.Count)
		}
		t.rows = append(t.rows, []string{clean(e.Action, maxName), account,
			size(e.ClaimedBytes), size(e.ReturnedBytes), size(e.GPUBytes), count})
	}
	if len(v.Experiments) > maxRows {
		t.caption = captionOf(strings.TrimSuffix(t.caption, "."), len(v.Experiments))
	}
	s.blocks = []block{{table: t}}
	return s
}

func forecastSection(v *verdict.Verdict) section {
	s := section{id: "forecast", title: "Forecast"}
	f := v.Forecast
	if f == nil {
		return s
	}
	limit := clean(f.Limit, maxName)
	if f.CapacityBytes > 0 {
		limit += " of " + units.Bytes(f.CapacityBytes)
	}
	s.blocks = []block{{text: fmt.Sprintf(
		"At this rate the %s is used up in %s; with 80 %% probability in %s to %s.",
		limit, units.Seconds(f.P50), units.Seconds(f.P10), units.Seconds(f.P90))}}
	return s
}
