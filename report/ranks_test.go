package report

import (
	"slices"
	"testing"
)

func TestProcessesWithARankHaveItInTheTable(t *testing.T) {
	t.Parallel()
	v := processesVerdict()
	titles := func() []string {
		var out []string
		for _, b := range processesSection(processesRun(), v).blocks {
			if b.table != nil {
				for _, c := range b.table.head {
					out = append(out, c.title)
				}
			}
		}
		return out
	}
	if got := titles(); slices.Contains(got, "rank") || slices.Contains(got, "name") {
		t.Errorf("columns %v of processes without either", got)
	}
	rank := 0
	v.Processes[0].Rank, v.Processes[1].Name = &rank, "SpawnProcess-1"
	if got := titles(); len(got) < 3 || got[1] != "rank" || got[2] != "name" {
		t.Errorf("columns %v", got)
	}
	blocks := processesSection(processesRun(), v).blocks
	rows := blocks[len(blocks)-1].table.rows
	if rows[0][1] != "0" || rows[0][2] != unknown || rows[1][1] != unknown || rows[1][2] != "SpawnProcess-1" {
		t.Errorf("rows %v", rows)
	}
}
