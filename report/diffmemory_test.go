package report

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/peak"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// withWindow is a run of some samples with a window in which so many bytes more lived.
func withWindow(t *testing.T, more string) *record.Run {
	t.Helper()
	run := leakRun(400)
	run.Events = append(run.Events,
		record.Event{TMs: 900, Kind: record.KindWindow, PID: 1, Detail: []byte(`{"part":0,"parts":1,"steps":1,
			"roles":["parameters"],"boundaries":[9],"live":[[0,1048576,0]],"stacks":[[0]],
			"events":[[4096,` + more + `,1,0],[4096,-` + more + `,5,-1]],"frames":["/src/train.py:11 step"]}`)},
		record.Event{TMs: 950, Kind: record.KindComposition, PID: 1,
			Detail: []byte(`{"device":0,"categories":{"parameters":1048576,"buffers":` + more + `}}`)})
	return run
}

func TestADifferenceSaysWhatThePeakIsMadeOfNow(t *testing.T) {
	t.Parallel()
	base, new := Side{"main", withWindow(t, "1048576")}, Side{"branch", withWindow(t, "3145728")}
	d := verdict.Diff(base.Run, new.Run, verdict.Options{})
	for _, f := range []Format{Text, Markdown, HTML} {
		var b strings.Builder
		if err := WriteDiff(&b, f, base, new, d, Options{Width: 200}); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			"At the peak 4 MiB are live, 2 MiB more than before: temporaries +2 MiB.",
			"At the end 4 MiB are live, 2 MiB more than before: buffers +2 MiB.",
			"/src/train.py:11 step, temporaries", "grown",
		} {
			if !strings.Contains(strings.ReplaceAll(b.String(), "&#43;", "+"), want) {
				t.Errorf("%s has no %q:\n%s", f, want, b.String())
			}
		}
	}
	var b strings.Builder
	var back verdict.Difference
	if err := WriteDiff(&b, JSON, base, new, d, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(b.String()), &back); err != nil || back.Peak == nil ||
		back.Peak.Categories[0] != (peak.Compared{Name: "temporaries", Base: 1 << 20, New: 3 << 20, Change: "grown"}) ||
		back.Composition == nil || back.Composition.NewBytes != 4<<20 {
		t.Errorf("%v, %+v", err, back.Peak)
	}
}

func TestAWindowThatOnlyOneRunHasIsNamed(t *testing.T) {
	t.Parallel()
	base, new := Side{"main", leakRun(400)}, Side{"branch", withWindow(t, "3145728")}
	for range 2 {
		d := verdict.Diff(base.Run, new.Run, verdict.Options{})
		var b strings.Builder
		if err := WriteDiff(&b, Text, base, new, d, Options{Width: 200}); err != nil {
			t.Fatal(err)
		}
		want := "The peaks cannot be compared: the " +
			map[bool]string{true: "base", false: "new"}[base.Name == "main"] +
			" run has no profiled window."
		if !strings.Contains(b.String(), want) || d.Peak != nil {
			t.Errorf("no %q in\n%s", want, b.String())
		}
		base, new = new, base
	}
}
