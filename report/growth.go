package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
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
		s.blocks = append(s.blocks, block{charts: charts, folded: "More charts"})
		if t := marksText(run); t != "" {
			s.blocks = append(s.blocks, block{text: t})
		}
	}
	if len(v.Accounts) == 0 {
		return s
	}
	t := growthTable(v, growthColumns(v))
	t.caption = growthCaption(run, v)
	s.blocks = append(s.blocks, block{table: t})
	if t := fileCacheText(run); t != "" {
		s.blocks = append(s.blocks, block{text: t})
	}
	if t := detectableText(v); t != "" {
		s.blocks = append(s.blocks, block{text: t})
	}
	s.blocks = append(s.blocks, block{pairs: growthTerms(v), glossary: true})
	return s
}

// growthTable has a row an account; its foot is by how much the process as a whole
// changed, to which the accounts' changes sum.
func growthTable(v *verdict.Verdict, use []growthColumn) *table {
	t := &table{zeros: "No change"}
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
	rows := rowsWithTree(v)
	for i := range rows {
		t.rows = append(t.rows, line(&rows[i]))
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
		from, to := units.Seconds(*m.FromMs/1000), units.Seconds(*m.ToMs/1000)
		parts = append(parts, "changes from "+from+" to "+to)
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
		change := "the last sample less the first one after the warm-up"
		if v.Measured.FromMs == nil {
			change = "the last sample less the first one"
		}
		terms = append(terms, pair{"change", change},
			pair{"measured", "by how much the process's memory changed" + measuredText(v.Measured) +
				"; the changes above add up to it exactly"})
	}
	if v.Tree != nil {
		terms = append(terms, pair{treeTitle, "by how much all processes of the run together changed over " +
			"the same time; the other columns are of the judged one"})
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
		return fmt.Sprintf(", footprint %s and device %s", units.Growth(float64(*m.FootprintBytes)),
			units.Growth(float64(*m.DeviceBytes)))
	case m.FootprintBytes != nil:
		return ", by its footprint"
	case m.DeviceBytes != nil:
		return ", on the device"
	}
	return ""
}

// growthColumn is one column of the growth table.
type growthColumn struct {
	column
	cell func(*verdict.AccountRow) string
	// What the foot has in this column.
	change, share, tree bool
}

// Titles by which a part of the columns is chosen.
const (
	perSecond = "per second"
	perStep   = "per step"
	leftOver  = "left over"
)

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
				return units.Unknown
			}
			return units.Percent(*r.Share)
		}},
		{column: column{title: "count", right: true}, cell: func(r *verdict.AccountRow) string {
			return optCount(r.Count)
		}},
		{column: column{title: perSecond, right: true}, cell: func(r *verdict.AccountRow) string {
			return rateText(r.PerSecond)
		}},
		{column: column{title: perStep, right: true}, cell: func(r *verdict.AccountRow) string {
			return rateText(r.PerStep)
		}},
		{column: column{title: "shape"}, cell: func(r *verdict.AccountRow) string {
			return clean(string(r.Shape), 40)
		}},
	}
	if v.Tree != nil {
		cols = slices.Insert(cols, 2, treeColumn(v.Tree))
	}
	var out []growthColumn
	for _, c := range cols {
		known := c.tree || c.title == "account" || c.title == "growth"
		for i := range v.Accounts {
			text := c.cell(&v.Accounts[i])
			known = known || text != units.Unknown && text != ""
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
		return nil // and then there is no sum of the processes either
	}
	share := shareSum(v)
	cells := make([]string, len(use))
	for i, c := range use {
		switch {
		case i == 0:
			cells[i] = "measured"
		case c.change:
			cells[i] = units.Growth(float64(v.Measured.Bytes))
		case c.tree:
			cells[i] = units.Growth(float64(v.Tree.Bytes))
		case c.share && !math.IsNaN(share):
			cells[i] = units.Percent(share)
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
		return units.Unknown
	}
	return units.Growth(i.Value)
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
		return units.Unknown
	}
	return units.Growth(float64(*b))
}

func optCount(n *int64) string {
	if n == nil {
		return units.Unknown
	}
	return units.CountGrowth(*n)
}

// detectableText says how small a growth would still have been seen, without
// which "flat" says nothing.
func detectableText(v *verdict.Verdict) string {
	var parts []string
	for _, row := range v.Accounts {
		if d := row.DetectablePerSecond; d != nil {
			parts = append(parts, fmt.Sprintf("%s %s", clean(string(row.Account), 40), units.Bytes(*d)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "Smallest growth a second that this run would have shown: " + strings.Join(parts, ", ") + "."
}
