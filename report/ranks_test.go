package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/internal/units"
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
	if got := titles(); got[1] != "rank" || got[len(got)-1] != "name" {
		t.Errorf("columns %v", got)
	}
	blocks := processesSection(processesRun(), v).blocks
	rows := blocks[len(blocks)-1].table.rows
	name := len(rows[0]) - 1
	if rows[0][1] != "0" || rows[0][name] != units.Unknown || rows[1][1] != units.Unknown ||
		rows[1][name] != "SpawnProcess-1" {
		t.Errorf("rows %v", rows)
	}
}

func TestACommandIsNamedWithoutItsFolders(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                    units.Unknown,
		"/opt/venv/bin/python -u a/ranks.py":  "python -u ranks.py",
		"python train.py --data=/mnt/x --o y": "python train.py --data=/mnt/x --o y",
		"SpawnProcess-1":                      "SpawnProcess-1",
	} {
		if got := nameText(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestANarrowTableBreaksWordsLast(t *testing.T) {
	t.Parallel()
	run, v := processesRun(), processesVerdict()
	for i := range v.Processes {
		v.Processes[i].Name = "python train.py --epochs 20 --batch 32 --seed 1"
	}
	for _, width := range []int{120, 100, 95} {
		var out strings.Builder
		if err := Write(&out, Text, run, v, Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		_, table, _ := strings.Cut(out.String(), "changes are those")
		for _, whole := range []string{"likely, 85 %", "+39.0 MiB", "host-growth", "--epochs"} {
			if !strings.Contains(table, whole) {
				t.Errorf("%d columns: %q is broken in\n%s", width, whole, table)
			}
		}
	}
}
