package verdict

import (
	"github.com/gpumem/gpumem/report/evidence"
	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/series"
)

// rows are the findings that speak of a growth, or of its absence, in a fixed order.
func rows(f *evidence.Findings) []FindingRow {
	var out []FindingRow
	for _, one := range [...]*finding.Finding{&f.Trend, f.Objects, f.Ages, f.Sites, f.Hidden, f.Leftover, f.GaveBack,
		f.Refill,
		f.Magnitude} {
		if one == nil || one.By == "" {
			continue
		}
		row := FindingRow{Evidence: one.By, Class: classOf(one.Owner), Score: stat.Round(one.Trust()),
			Why: one.Why}
		row.Account = accountNamed(one.Of)
		if row.Evidence == ByTrend && one.Of == series.Handles {
			row.Evidence = ByHandles
		}
		out = append(out, row)
	}
	return out
}

// accountNamed is the account that a series belongs to; empty for none.
func accountNamed(k series.Key) Account {
	switch k {
	case series.Live, series.Count, series.Refs:
		return Live
	case series.Idle:
		return Idle
	case series.Untracked, series.Device, series.Handles:
		return Untracked
	case series.Host, series.Heap:
		return Host
	}
	return ""
}
