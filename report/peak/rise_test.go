package peak_test

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/peak"
	"github.com/gpumem/gpumem/tracer/record"
)

// stateful is the recorded program without no_grad whose graph is one pass of a recurrent
// module, with the live bytes that it had at each tenth of a second before.
func stateful(t *testing.T, live func(tenth int) float64) *peak.OOM {
	t.Helper()
	run := recorded(t, "no-grad")
	var times, values []float64
	for i := range 100 {
		times, values = append(times, float64(i*100)), append(values, live(i))
	}
	run.Samples = record.NewSamples([]string{record.ColTime, record.ColLive}, [][]float64{times, values})
	for i := range run.Events {
		run.Events[i].TMs = 10_000
	}
	training := true
	run = detail(t, run, func(d *record.OOM) {
		d.Graph = &record.Graph{Passes: 1, Joined: 1, Uses: 700, Bytes: 12 << 30, Training: &training,
			Holder: &record.Holder{Path: "read() local h", Filled: "/src/read.py:9 read"}}
	})
	return peak.OutOfMemory(run, peak.Growth{})
}

func TestAStateThatGoesOnWithItsGraphGrewAndIsNoBatchThatIsTooLarge(t *testing.T) {
	t.Parallel()
	o := stateful(t, func(tenth int) float64 { return float64(tenth+1) * 1e8 })
	if o.Reason != peak.Growing || !strings.HasPrefix(o.Sentence, "it grew for 8.80 s until") ||
		!strings.Contains(o.Sentence, "read() local h (read.py:9 read) goes on with the graph of all 700 steps") ||
		!strings.Contains(o.Advice(), "h = h.detach()") {
		t.Errorf("%s: %s\n%s", o.Reason, o.Sentence, o.Advice())
	}
	for name, live := range map[string]func(int) float64{
		"a long sequence at the end": func(tenth int) float64 { return 1e8 * (1 + float64(tenth/95)*90) },
		"steps of a training":        func(tenth int) float64 { return 1e8 * float64(1+tenth%20) },
		"two large steps":            func(tenth int) float64 { return 1e8 * (1 + float64(tenth/40)*40) },
		"nothing was seen":           func(int) float64 { return record.Unknown() },
		"seconds only":               func(tenth int) float64 { return 1e8 * max(1, float64(tenth-75)) },
	} {
		if o := stateful(t, live); o.Reason != peak.Activations {
			t.Errorf("%s: %s: %s", name, o.Reason, o.Sentence)
		}
	}
}
