package report

import (
	"slices"
	"strings"

	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// leadOf is the picture that a reader sees first: the account that the verdict speaks
// of, alone, so that its growth fills the picture. Where no account is named it is the
// first chart; nil without charts.
func leadOf(v *verdict.Verdict, charts []chart) *chart {
	if len(charts) == 0 {
		return nil
	}
	lead := charts[0]
	if row := primaryRow(v); row != nil {
		if c, ok := lineAlone(charts, row); ok {
			lead = c
		}
	}
	lead.large, lead.explained = true, false
	return &lead
}

// lineAlone is the chart of one account; of live the handles where only they grow.
func lineAlone(charts []chart, row *verdict.AccountRow) (chart, bool) {
	counted := row.Count != nil && *row.Count > 0 && bytesOf(row) <= 0
	for _, c := range charts {
		if c.bytes == counted {
			continue
		}
		at := slices.IndexFunc(c.lines, func(l line) bool { return l.id == string(row.Account) })
		if at < 0 || c.id == "inflight" {
			continue
		}
		c.id, c.title, c.lines = "lead", leadTitle(row.Account, counted), c.lines[at:at+1]
		return c, true
	}
	return chart{}, false
}

// leadTitle names an account with what it is.
func leadTitle(a record.Account, counted bool) string {
	name := strings.ToUpper(string(a[:1])) + string(a[1:])
	switch {
	case counted:
		return name + " handles"
	case a == record.AccountHost:
		return name + " memory outside of the other accounts"
	}
	for _, d := range definitions {
		if d.name == string(a) {
			return name + " memory: " + d.value
		}
	}
	return name + " memory"
}
