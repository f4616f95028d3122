package peak_test

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/peak"
	"github.com/gpumem/gpumem/tracer/record"
)

// stateful is the recorded program without no_grad whose graph is one pass of a recurrent
// module, with the live bytes that it had at each tenth of a second before.
func stateful(t *testing.T, optimizers int64, live func(tenth int) float64) *peak.OOM {
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
		d.Model.Optimizers = &optimizers
		d.Graph = &record.Graph{Passes: 1, Joined: 1, Uses: 700, Bytes: 12 << 30, Training: &training,
			Holder: &record.Holder{Path: "read() local h", Filled: "/src/read.py:9 read"}}
	})
	return peak.OutOfMemory(run, peak.Growth{})
}

func TestAStateThatGoesOnWithItsGraphGrewAndIsNoBatchThatIsTooLarge(t *testing.T) {
	t.Parallel()
	o := stateful(t, 1, func(tenth int) float64 { return float64(tenth+1) * 1e8 })
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
		if o := stateful(t, 1, live); o.Reason != peak.Activations {
			t.Errorf("%s: %s: %s", name, o.Reason, o.Sentence)
		}
	}
}

func TestOfAStateWithoutAnOptimizerASecondIsEnough(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		optimizers int64
		from       int
		want       peak.Reason
	}{{0, 75, peak.Growing}, {1, 75, peak.Activations}, {0, 95, peak.Activations}} {
		o := stateful(t, c.optimizers, func(tenth int) float64 { return 1e8 * max(1, float64(tenth-c.from)) })
		if o.Reason != c.want {
			t.Errorf("%d optimizers, from tenth %d: %s: %s", c.optimizers, c.from, o.Reason, o.Sentence)
		}
	}
}

// As on an H100: 116 steps of a cell, 26 MiB more with each of them.
func TestAStreamThatFillsItsLimitInLessThanThreeSecondsGrew(t *testing.T) {
	t.Parallel()
	run := recorded(t, "recurrent")
	live := [][]float64{{5902, 6203, 6353, 6574, 6806, 7011, 7187, 7354, 7576, 7814, 8039, 8220, 8469, 8683,
		8847, 9023, 9135, 9306, 9457}, {0, 48, 66, 300, 496, 690, 898, 1080, 1262, 1548, 1704, 1912, 2224,
		2484, 2640, 2848, 2978, 3058, 3058}}
	run.Samples = record.NewSamples([]string{record.ColTime, record.ColLive}, live)
	o := peak.OutOfMemory(run, peak.Growth{})
	const want = "it grew for 2.88 s until it reached its limit of 3 GiB: stream() local h (train.py:184 " +
		"stream) goes on with the graph of all 116 steps of a module, with 232 MiB of their activations at " +
		"least; it asked for 20.0 MiB at train.py:184 stream (module GRUCell)."
	if o.Reason != peak.Growing || o.Sentence != want {
		t.Errorf("%s: %s", o.Reason, o.Sentence)
	}
}
