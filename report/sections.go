package report

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// definitions are the accounts in words, in the order of the ledgers.
var definitions = [...]pair{
	{string(record.AccountLive), "handed out and still referenced by the program"},
	{string(record.AccountIdle), "kept by the program's pool, referenced by nobody"},
	{string(record.AccountUntracked), "charged by the driver beyond live and idle"},
	{string(record.AccountHost), "host memory outside of all of these"},
}

func growthSection(run *record.Run, v *verdict.Verdict, charts []chart) section {
	s := section{id: "growth", title: "Growth by account"}
	if len(charts) > 0 {
		s.blocks = append(s.blocks, block{charts: charts})
		if t := marksText(run); t != "" {
			s.blocks = append(s.blocks, block{text: t})
		}
	}
	if len(v.Accounts) == 0 {
		return s
	}
	s.blocks = append(s.blocks, block{table: growthTable(run, v)})
	if t := detectableText(v); t != "" {
		s.blocks = append(s.blocks, block{text: t})
	}
	s.blocks = append(s.blocks, block{pairs: growthTerms(v)})
	return s
}

// growthTable has a row an account; its foot is by how much the process as a whole
// changed, to which the accounts' changes sum.
func growthTable(run *record.Run, v *verdict.Verdict) *table {
	use := growthColumns(v)
	t := &table{caption: growthCaption(run, v)}
	for _, c := range use {
		t.head = append(t.head, c.column)
	}
	line := func(row *verdict.AccountRow) []string {
		cells := make([]string, len(use))
		for i, c := range use {
			cells[i] = c.cell(row)
		}
		return cells
	}
	for i := range v.Accounts {
		t.rows = append(t.rows, line(&v.Accounts[i]))
	}
	t.foot = growthFoot(v, use)
	return t
}

// growthCaption says what was judged, and between which samples changes are told.
func growthCaption(run *record.Run, v *verdict.Verdict) string {
	var parts []string
	if v.Window.Samples > 0 {
		parts = append(parts, "judged: "+windowText(run, v))
	}
	if m := v.Measured; m != nil && m.FromMs != nil && m.ToMs != nil && hasTime(run) {
		parts = append(parts, "changes from "+secondsText(*m.FromMs/1000)+" to "+secondsText(*m.ToMs/1000))
	}
	if len(parts) == 0 {
		return "By account."
	}
	return "By account, " + strings.Join(parts, "; ") + "."
}

// growthTerms are the accounts and the columns of the table in words.
func growthTerms(v *verdict.Verdict) []pair {
	terms := slices.Clone(definitions[:])
	if v.Measured != nil {
		terms = append(terms, pair{"change", "the last sample less the first one after the warm-up"},
			pair{"measured", "by how much the process changed" + measuredText(v.Measured) +
				", to which the changes sum exactly"})
	}
	if slices.ContainsFunc(v.Accounts, func(r verdict.AccountRow) bool { return r.BytesLow != nil }) {
		terms = append(terms,
			pair{"growth",
				"what the trend test fits after the account's own warm-up, with its 95 % interval"})
	}
	return terms
}

// measuredText names what the measured change was read from.
func measuredText(m *verdict.Measured) string {
	switch {
	case m.FootprintBytes != nil && m.DeviceBytes != nil && *m.FootprintBytes != m.Bytes:
		return fmt.Sprintf(", footprint %s and device %s", signedBytes(float64(*m.FootprintBytes)),
			signedBytes(float64(*m.DeviceBytes)))
	case m.FootprintBytes != nil:
		return " by its footprint"
	case m.DeviceBytes != nil:
		return " on the device"
	}
	return ""
}

// growthColumn is one column of the growth table.
type growthColumn struct {
	column
	cell func(*verdict.AccountRow) string
	// What the foot has in this column.
	change, share bool
}

func growthColumns(v *verdict.Verdict) []growthColumn {
	cols := []growthColumn{
		{column: column{title: "account"}, cell: func(r *verdict.AccountRow) string {
			return clean(string(r.Account), 40)
		}},
		{column: column{title: "change", right: true}, change: true,
			cell: func(r *verdict.AccountRow) string { return optBytes(r.ChangeBytes) }},
		{column: column{title: "growth", right: true}, cell: fittedText},
		{column: column{title: "share", right: true}, share: true, cell: func(r *verdict.AccountRow) string {
			if r.Share == nil {
				return unknown
			}
			return percentText(*r.Share)
		}},
		{column: column{title: "count", right: true}, cell: func(r *verdict.AccountRow) string {
			return optCount(r.Count)
		}},
		{column: column{title: "per second", right: true}, cell: func(r *verdict.AccountRow) string {
			return rateText(r.PerSecond)
		}},
		{column: column{title: "per step", right: true}, cell: func(r *verdict.AccountRow) string {
			return rateText(r.PerStep)
		}},
		{column: column{title: "shape"}, cell: func(r *verdict.AccountRow) string {
			return clean(string(r.Shape), 40)
		}},
	}
	var out []growthColumn
	for _, c := range cols {
		known := c.title == "account" || c.title == "growth"
		for i := range v.Accounts {
			text := c.cell(&v.Accounts[i])
			known = known || text != unknown && text != ""
		}
		if known {
			out = append(out, c)
		}
	}
	return out
}

// growthFoot is what was measured of the process as a whole.
func growthFoot(v *verdict.Verdict, use []growthColumn) [][]string {
	if v.Measured == nil {
		return nil
	}
	share := shareSum(v)
	cells := make([]string, len(use))
	for i, c := range use {
		switch {
		case i == 0:
			cells[i] = "measured"
		case c.change:
			cells[i] = signedBytes(float64(v.Measured.Bytes))
		case c.share && !math.IsNaN(share):
			cells[i] = percentText(share)
		}
	}
	return [][]string{cells}
}

// fittedText is a fitted growth with its interval.
func fittedText(r *verdict.AccountRow) string {
	if r.Bytes == nil || r.BytesLow == nil || r.BytesHigh == nil {
		return optBytes(r.Bytes)
	}
	return intervalText(&verdict.Interval{Value: float64(*r.Bytes), Low: float64(*r.BytesLow),
		High: float64(*r.BytesHigh)})
}

// rateText is a rate without its interval, which is as wide as that of the growth.
func rateText(i *verdict.Interval) string {
	if i == nil {
		return unknown
	}
	return signedBytes(i.Value)
}

func shareSum(v *verdict.Verdict) float64 {
	sum := math.NaN()
	for _, row := range v.Accounts {
		if row.Share != nil {
			if math.IsNaN(sum) {
				sum = 0
			}
			sum += *row.Share
		}
	}
	return sum
}

func optBytes(b *int64) string {
	if b == nil {
		return unknown
	}
	return signedBytes(float64(*b))
}

func optCount(n *int64) string {
	if n == nil {
		return unknown
	}
	return signedCount(*n)
}

// detectableText says how small a growth would still have been seen, without
// which "flat" says nothing.
func detectableText(v *verdict.Verdict) string {
	var parts []string
	for _, row := range v.Accounts {
		if d := row.DetectablePerSecond; d != nil {
			parts = append(parts, fmt.Sprintf("%s %s", clean(string(row.Account), 40), bytesText(*d)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "Smallest growth a second that this run would have shown: " + strings.Join(parts, ", ") + "."
}

func leftoverSection(v *verdict.Verdict) section {
	t := &table{
		caption: "What each account still held at the mark released beyond the mark baseline.",
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
		t.foot = [][]string{{"sum", signedBytes(sum), ""}}
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
		b := block{head: head}
		for _, e := range c.Evidence {
			b.list = append(b.list, clean(e, maxLine))
		}
		if c.Next != "" {
			b.list = append(b.list, "Next: "+clean(c.Next, maxLine))
		}
		s.blocks = append(s.blocks, b)
	}
	return s
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
				signedBytes(float64(*d.RSSBytes)), countText(d.Count)})
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

func sitesSection(v *verdict.Verdict) section {
	s := section{id: "sites", title: "Survivors by allocation site"}
	if len(v.Sites) == 0 {
		return s
	}
	t := &table{head: []column{{title: "site"}, {title: "held", right: true}, {title: "count", right: true}}}
	growth := false
	for _, site := range v.Sites {
		growth = growth || site.GrowthBytes != 0
	}
	if growth {
		t.head = append(t.head, column{title: "growth", right: true})
	}
	for _, site := range v.Sites[:min(len(v.Sites), maxRows)] {
		row := []string{clean(site.Site, maxName), bytesText(float64(site.Bytes)), countText(site.Count)}
		if growth {
			row = append(row, signedBytes(float64(site.GrowthBytes)))
		}
		t.rows = append(t.rows, row)
	}
	t.caption = captionOf("What is still allocated at the end, by the line that allocated it", len(v.Sites))
	s.blocks = []block{{icicle: sitesIcicle(v.Sites), table: t}}
	return s
}

func holdersSection(v *verdict.Verdict) section {
	s := section{id: "holders", title: "Holders"}
	if len(v.Holders) == 0 {
		return s
	}
	t := &table{head: []column{{title: "held by"}, {title: "bytes", right: true},
		{title: "count", right: true}}}
	caption := "The references that keep memory alive"
	for _, h := range v.Holders[:min(len(v.Holders), maxRows)] {
		t.rows = append(t.rows, []string{clean(h.String(), maxName), bytesText(float64(h.Bytes)),
			countText(h.Count)})
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
		return fmt.Sprintf("%s; the first %d of %s.", text, maxRows, countText(int64(n)))
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
			return unknown
		}
		return bytesText(float64(*b))
	}
	for _, e := range v.Experiments[:min(len(v.Experiments), maxRows)] {
		account := clean(string(e.Account), 40)
		if account == "" {
			account = unknown
		}
		count := unknown
		if e.Count != nil {
			count = countText(*e.Count)
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
		limit += " of " + bytesText(float64(f.CapacityBytes))
	}
	s.blocks = []block{{text: fmt.Sprintf(
		"At this rate the %s is used up in %s; with 80 %% probability in %s to %s.",
		limit, secondsText(f.P50), secondsText(f.P10), secondsText(f.P90))}}
	return s
}
