package report

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

func TestProcessesThatWereLeftBehindStandInTheAnswer(t *testing.T) {
	t.Parallel()
	run := processesRun()
	run.Meta.PID = 100
	run.Events = append(run.Events, record.Event{Kind: record.KindLeft, PID: 101, Name: "/opt/worker --serve"})
	v := verdict.Judge(run, verdict.Options{})
	var brief, whole strings.Builder
	if err := writeBrief(&brief, run, v, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := Write(&whole, Text, run, v, Options{}); err != nil {
		t.Fatal(err)
	}
	const want = "PID 101, worker --serve, holds 30.0 MiB of GPU memory and 200 MiB of host memory."
	if !strings.Contains(brief.String(), "left behind: "+want) {
		t.Errorf("the answer:\n%s", &brief)
	}
	if text := whole.String(); !strings.Contains(text, leftTitle+"\n") || !strings.Contains(text, want) {
		t.Errorf("the report:\n%s", text)
	}
}

func TestTheGrowthTableHasTheChangeOfAllProcessesBesideTheJudgedOne(t *testing.T) {
	t.Parallel()
	run := processesRun()
	run.Meta.PID = 100
	v := verdict.Judge(run, verdict.Options{})
	table := growthTable(v, growthColumns(v))
	if len(table.head) < 3 || table.head[2].title != treeTitle {
		t.Fatalf("columns %v", table.head)
	}
	for _, row := range table.rows {
		if row[0] == string(record.AccountHost) && (row[1] != "+39.0 MiB" || row[2] != "−161 MiB") {
			t.Errorf("%v", row)
		}
	}
	if foot := table.foot[0]; foot[1] != "+39.0 MiB" || foot[2] != "−191 MiB" {
		t.Errorf("%v", foot)
	}
	text := livingText(v.Tree)
	if !strings.HasPrefix(text, "Number of processes: 2 at 0 s, 1 at 3.90 s, at most 2 at once.") {
		t.Error(text)
	}
}

func TestOfManyProcessesThatWereLeftBehindTheFirstAreNamed(t *testing.T) {
	t.Parallel()
	v := &verdict.Verdict{}
	for pid := range 8 {
		v.LeftBehind = append(v.LeftBehind, verdict.LeftRow{PID: 100 + pid})
	}
	list := leftTexts(v)
	if len(list) != 6 || list[0] != "PID 100." || list[5] != "3 more, which verdict.json lists." {
		t.Errorf("%q", list)
	}
}
