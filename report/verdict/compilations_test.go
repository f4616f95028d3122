package verdict

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/cause"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// compiling is the answer about a program whose host memory grows while code is compiled
// so often, evenly up to a part of the run, at one line.
func compiling(count int, until float64) *Verdict {
	run := newProgram(400).grows(record.ColRSS, 50*mib, 64*kib, mib/20).run()
	for i := 1; i <= count; i++ {
		run.Events = append(run.Events, record.Event{TMs: 20_000 * until * float64(i) / float64(count),
			Kind: record.KindEvent, Name: "compiled", At: "/srv/app/train.py:12 step",
			Detail: fmt.Appendf(nil, `{"count":%d}`, i)})
	}
	return Judge(run, Options{})
}

func TestTheLineThatHasCodeCompiledAgainAndAgainIsNamed(t *testing.T) {
	t.Parallel()
	v := compiling(100, 1)
	if v.Verdict != HostGrowth || len(v.Causes) == 0 || v.Causes[0].ID != "compiled-functions-kept" {
		t.Fatalf("%s: %+v", v.Verdict, v.Causes)
	}
	if want := "compiled again and again at app/train.py:12 in step"; !strings.Contains(v.Answer, want) {
		t.Errorf("answer %q, want %q in it", v.Answer, want)
	}
	if want := "at app/train.py:12 in step: compile once"; !strings.HasPrefix(v.Next, want) {
		t.Errorf("next %q, want %q", v.Next, want)
	}
	for what, v := range map[string]*Verdict{"few": compiling(5, 1), "while warming up": compiling(100, .3)} {
		if len(v.Causes) > 0 && v.Causes[0].ID == "compiled-functions-kept" {
			t.Errorf("%s: %+v", what, v.Causes)
		}
	}
}

func TestAFixedSetOfShapesIsCompiledLessAndLessOften(t *testing.T) {
	t.Parallel()
	steadily := func(at func(n float64) float64) bool {
		run := newProgram(400).grows(record.ColRSS, 50*mib, 64*kib, mib/20).run()
		for n := 1.; n < 200 && at(n) < 20; n = max(n+1, float64(int(n*1.25))) { // as the agent tells them
			run.Events = append(run.Events, record.Event{TMs: 1000 * at(n), Kind: record.KindEvent,
				Name: "compiled",
				At:   "/srv/app/serve.py:9 answer", Detail: fmt.Appendf(nil, `{"count":%d}`, int(n))})
		}
		s := judgeAll(run, Options{}, trend.ForReport())[0]
		return compilesSteadily(s)
	}
	if !steadily(func(n float64) float64 { return 2 + n/8 }) {
		t.Error("eight a second, all the time, are not steady")
	}
	if steadily(func(n float64) float64 { return 2 + n*n/40 }) {
		t.Error("less and less often is steady")
	}
}

func TestAProgramWhoseLinesAreCompiledForTheFirstTimeMayBeStarting(t *testing.T) {
	t.Parallel()
	growing := func(at ...float64) *Verdict {
		run := newProgram(300).grows(record.ColRSS, 50*mib, 64*kib, mib/5).run()
		run.Meta.Versions = map[string]string{"python": "3.11.2"}
		for i, seconds := range at {
			run.Events = append(run.Events, record.Event{TMs: 1000 * seconds, Kind: record.KindEvent, Name: "compiled",
				At: fmt.Sprintf("/srv/app/train.py:%d main", 20+i), Detail: []byte(`{"count":1}`)})
		}
		return Judge(run, Options{})
	}
	if v := growing(2, 3, 4); v.Verdict != HostGrowth || v.Tier != Confirmed {
		t.Errorf("all in the beginning: %s", v.Summary)
	}
	if v := growing(2, 6, 13); v.Verdict != Undecided {
		t.Errorf("up to the end: %s", v.Summary)
	}
}

// CuPy compiles a kernel where it is first used, and tells nobody: what that takes of the host is none
// of a leak's as long as modules still come to a young device.
func TestKernelsOfCuPyThatAreCompiledFirstAreNoGrowthYet(t *testing.T) {
	t.Parallel()
	judged := func(framework string, until float64) *Verdict {
		p := newProgram(280).with(framework).with("python")
		used := func(i int) float64 { return float64(max(0, i-80)) / 20 } // seconds since the device came to life
		heap := func(i int) float64 { return 18 * mib * max(0, used(i)-2) }
		p.set(record.ColGPU, func(i int) float64 { return 500 * mib * min(1, used(i)) }).
			set(record.ColLive, func(i int) float64 { return 8 * mib * min(1, used(i)) }).
			set(record.ColHostHeap, func(i int) float64 { return 130*mib + heap(i) }).
			set(record.ColRSS, func(i int) float64 { return 300*mib + heap(i) }).
			set(record.ColModules, func(i int) float64 { return float64(int(2 * min(used(i), until))) })
		return p.judge()
	}
	if v := judged("cupy", 9); v.Verdict != Undecided {
		t.Errorf("modules still come: %s", v.Summary)
	}
	if v := judged("cupy", 3); v.Verdict != HostGrowth {
		t.Errorf("they came at first: %s", v.Summary)
	}
	if v := judged("torch", 9); v.Verdict != HostGrowth {
		t.Errorf("PyTorch loads what is compiled: %s", v.Summary)
	}
}

// profiled is the answer about a program whose host memory grows while a profiler records, which
// the agent tells at some seconds.
func profiled(events string, at ...float64) *Verdict {
	run := newProgram(400).grows(record.ColRSS, 50*mib, 64*kib, mib/20).run()
	for _, t := range at {
		run.Events = append(run.Events, record.Event{TMs: 1000 * t, Kind: record.KindEvent, Name: events,
			At: "/srv/app/train.py:67 main", Detail: fmt.Appendf(nil, `{"by":"torch.profiler","seconds":%g}`, t-1)})
	}
	return Judge(run, Options{})
}

func TestAProfilerThatRecordsWithoutAStopIsNamedWithItsLine(t *testing.T) {
	t.Parallel()
	v := profiled("profiling", 5, 9, 17)
	if len(v.Causes) == 0 || v.Causes[0].ID != cause.Buffers ||
		!strings.Contains(v.Causes[0].Evidence[0], "torch.profiler had recorded for 16 s without a stop") {
		t.Fatalf("%+v", v.Causes)
	}
	if want := "recorded without a stop since app/train.py:67 in main"; !strings.Contains(v.Answer, want) {
		t.Errorf("answer %q, want %q in it", v.Answer, want)
	}
	if want := "at app/train.py:67 in main: give the profiler a schedule"; !strings.HasPrefix(v.Next, want) {
		t.Errorf("next %q, want %q", v.Next, want)
	}
	run := newProgram(400).grows(record.ColRSS, 50*mib, 64*kib, mib/20).run()
	for _, t := range []float64{5, 9, 17} {
		run.Events = append(run.Events, record.Event{TMs: 1000 * t, Kind: record.KindEvent, Name: "profiling",
			At: "/srv/app/train.py:66 main", Detail: fmt.Appendf(nil, `{"by":%q,"seconds":%g}`, cause.ByAllocator, t-1)})
	}
	v = Judge(run, Options{})
	if !strings.HasPrefix(v.Next, "at app/train.py:66 in main: give the history a bound") {
		t.Errorf("a history: next %q", v.Next)
	}
	if v := profiled("profiling", 5, 9); len(v.Causes) == 0 {
		t.Error("it is told at 17 s the next time, and may be late by a round")
	}
	for what, v := range map[string]*Verdict{"it stopped long before": profiled("profiling", 5),
		"another event": profiled("evaluating", 5, 9, 17)} {
		if len(v.Causes) > 0 && v.Causes[0].ID == cause.Buffers {
			t.Errorf("%s: %+v", what, v.Causes)
		}
	}
}
