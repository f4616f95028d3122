package answers

import (
	"testing"
	"time"

	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

func TestAProgramThatEndsBeforeItWorksGetsOneLine(t *testing.T) {
	t.Parallel()
	type program struct {
		exit, samples int
		seconds       float64
		gpu           float64
		steps         int64
		verdict       verdict.Class
	}
	for name, c := range map[string]struct {
		program
		want string
	}{
		"a script that is not there": {program{exit: 2, samples: 3, seconds: .1,
			verdict: verdict.Undecided}, "the program failed after 100ms"},
		"a wrong option, found after imports": {program{exit: 2, samples: 60, seconds: 3,
			verdict: verdict.Undecided}, "the program failed after 3s"},
		"no failure": {program{exit: 0, samples: 3, seconds: .1,
			verdict: verdict.Undecided}, "the program ended after 100ms"},
		"at once": {program{exit: 0, samples: 2, seconds: .029,
			verdict: verdict.Undecided}, "the program ended after 29ms"},
		"nothing but imports": {program{exit: 0, samples: 60, seconds: 2,
			verdict: verdict.Undecided}, "the program ended after 2s"},
		"out of memory on a device at once": {program{exit: 1, samples: 60, seconds: 3, gpu: 80 << 30,
			verdict: verdict.Undecided}, ""},
		"out of memory after some steps": {program{exit: 1, samples: 60, seconds: 3, steps: 4,
			verdict: verdict.Undecided}, ""},
		"a failure after a while": {program{exit: 1, samples: 300, seconds: 15,
			verdict: verdict.Undecided}, ""},
		"growth that was seen all the same": {program{exit: 1, samples: 60, seconds: 3,
			verdict: verdict.HostGrowth}, ""},
		"a failure of which no end was stored": {program{exit: 1, samples: 60, seconds: -1,
			verdict: verdict.Undecided}, ""},
	} {
		gpu := make([]float64, c.samples)
		for i := range gpu {
			gpu[i] = c.gpu
		}
		run := &record.Run{Samples: record.NewSamples([]string{record.ColGPU}, [][]float64{gpu})}
		run.Meta.Start = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
		run.Meta.ExitCode = &c.exit
		if c.seconds >= 0 {
			end := run.Meta.Start.Add(time.Duration(c.seconds * float64(time.Second)))
			run.Meta.End = &end
		}
		v := &verdict.Verdict{Verdict: c.verdict, Window: verdict.Window{Samples: c.samples, Steps: c.steps}}
		if got := tooShort(run, v); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
