package verdict

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

func TestWorkersThatAreLeftHaveTheLineThatStartedThem(t *testing.T) {
	t.Parallel()
	var left [][2]float64
	for i := range 7 {
		left = append(left, [2]float64{2 + 6*float64(i), 45})
	}
	run := tree(128*mib, left...)
	child := func(pid int, at string) {
		run.Events = append(run.Events, record.Event{TMs: float64(pid), PID: 100, Kind: record.KindChild, At: at,
			Detail: json.RawMessage(fmt.Sprintf(`{"pid":%d}`, pid))})
	}
	if v := Judge(run, Options{}); strings.Contains(fmt.Sprint(v.Causes), "started at") {
		t.Errorf("nobody told a line: %+v", v.Causes)
	}
	for pid := 200; pid < 206; pid++ {
		child(pid, "/job/serve.py:42 spawn_worker")
	}
	child(206, "/job/serve.py:50 other")
	for pid := 200; pid < 207; pid++ {
		run.Events = append(run.Events, record.Event{PID: pid, Kind: record.KindProcess,
			Name: fmt.Sprintf("Process-%d", pid)})
	}
	run.Events = append(run.Events, record.Event{Kind: record.KindChild, At: "x", Detail: json.RawMessage(`{"pid":"x"}`)})
	v := Judge(run, Options{})
	if v.Verdict != AppLeak || len(v.Causes) == 0 ||
		!strings.Contains(v.Causes[0].Evidence[0], "their command: Process-N; started at /job/serve.py:42 spawn_worker (") {
		t.Errorf("%s: %+v", v.Summary, v.Causes)
	}
}
