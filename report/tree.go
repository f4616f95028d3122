package report

import (
	"fmt"
	"slices"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// treeTitle is the column of what all processes of a run together changed by.
const treeTitle = "all processes"

// treeColumn is by how much each account of all processes together changed.
func treeColumn(tree *verdict.Tree) growthColumn {
	return growthColumn{column: column{title: treeTitle, right: true}, tree: true,
		cell: func(r *verdict.AccountRow) string {
			for _, a := range tree.Accounts {
				if a.Account == r.Account {
					return units.Growth(float64(a.ChangeBytes))
				}
			}
			return units.Unknown
		}}
}

// rowsWithTree are the accounts of the judged process, and those that only others have.
func rowsWithTree(v *verdict.Verdict) []verdict.AccountRow {
	if v.Tree == nil {
		return v.Accounts
	}
	rows := slices.Clone(v.Accounts)
	for _, a := range v.Tree.Accounts {
		if !slices.ContainsFunc(rows, func(r verdict.AccountRow) bool { return r.Account == a.Account }) {
			rows = append(rows, verdict.AccountRow{Account: a.Account})
		}
	}
	return rows
}

// livingText says how many processes there were; empty where that is not known.
func livingText(tree *verdict.Tree) string {
	if tree == nil {
		return ""
	}
	p := tree.Processes
	text := fmt.Sprintf("Number of processes: %s at %s, %s at %s, at most %s at once.",
		units.Count(int64(p.First)), units.Seconds(tree.FromMs/1000), units.Count(int64(p.Last)),
		units.Seconds(tree.ToMs/1000),
		units.Count(int64(p.Most)))
	switch {
	case tree.Untold == 1:
		text += " Of one of them nothing is known."
	case tree.Untold > 1:
		text += fmt.Sprintf(" Of %s of them nothing is known.", units.Count(int64(tree.Untold)))
	}
	return text
}

// livingChart is the number of processes over the run; false where it never changed.
func livingChart(run *record.Run) (chart, bool) {
	n := run.Samples.Len()
	pids, rows := account.ByPID(run.Samples, run.Meta.PID)
	if len(pids) < 2 {
		return chart{}, false
	}
	// The rows of one look come one after the other: who is in the first or the last
	// look was there from the beginning or up to the end.
	more := make([]float64, n+1)
	for _, pid := range pids {
		list := rows[pid]
		if len(list) == 0 {
			continue
		}
		born, died := slices.Min(list), slices.Max(list)+1
		if born < len(pids) {
			born = 0
		}
		if died > n-len(pids) {
			died = n
		}
		more[born]++
		more[died]--
	}
	count, now := make([]float64, n), 0.
	for i := range count {
		now += more[i]
		count[i] = now
	}
	return chart{id: "living", title: "Number of processes", axis: axisOf(run),
		lines: []line{{id: "living", label: "processes", v: moving(count)}}}, moving(count) != nil
}
