package verdict

import (
	"fmt"
	"strings"
	"testing"

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
