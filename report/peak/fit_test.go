package peak_test

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/peak"
	"github.com/gpumem/gpumem/tracer/record"
)

func sampled(live, idle, gpu float64) *record.Run {
	return &record.Run{Samples: record.NewSamples([]string{record.ColLive, record.ColIdle, record.ColGPU},
		[][]float64{{live / 2, live, record.Unknown()}, {0, idle, 0}, {live / 2, gpu, record.Unknown()}})}
}

func TestWhetherItFitsDependsOnWhatThePoolGivesBack(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	n, ok := peak.NeedOf(sampled(6*gib, 2*gib, 9*gib), nil)
	if !ok || n.Least != 7*gib || n.Most != 9*gib || !n.Sampled {
		t.Fatalf("%+v", n)
	}
	for memory, want := range map[int64]struct {
		answer int
		words  string
	}{10 * gib: {1, "1 GiB are left"}, 6 * gib: {-1, "1 GiB too much"}, 8 * gib: {0, "gives back 1 GiB"}} {
		if answer, sentence := n.Fits(memory); answer != want.answer || !strings.Contains(sentence, want.words) {
			t.Errorf("%d: %d, %s", memory, answer, sentence)
		}
	}
	if _, ok := peak.NeedOf(&record.Run{}, nil); ok {
		t.Error("a run without live bytes has a need")
	}
}

func TestTheBatchThatFitsIsReadFromRunsOfSeveralSizes(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	var needs []peak.Need
	for _, batch := range []float64{2, 4, 8} {
		n, _ := peak.NeedOf(sampled((2+batch)*gib, 0, (3+batch)*gib), nil)
		needs = append(needs, n)
	}
	b, ok := peak.BatchOf([]int64{2, 4, 8}, needs, 24*gib)
	if !ok || b.Least != 21 || b.Most != 21 || b.PerItem != gib || b.Fixed != 3*gib {
		t.Errorf("%+v", b)
	}
	if _, ok := peak.BatchOf([]int64{4, 4}, needs[:2], gib); ok {
		t.Error("two runs of one size make a line")
	}
}

func TestARunThatRanOutIsNotSaidToFitByWhatItCameTo(t *testing.T) {
	t.Parallel()
	const gib = int64(1 << 30)
	run := recorded(t, "activations") // 75.4 GiB live, 4 GiB asked for
	run.Samples = record.NewSamples([]string{record.ColLive, record.ColIdle, record.ColGPU},
		[][]float64{{float64(2 * gib)}, {float64(gib)}, {float64(4 * gib)}})
	n, ok := peak.NeedOf(run, nil)
	if !ok || !n.Cut || n.Least < 80*gib {
		t.Fatalf("%+v", n)
	}
	if fits, text := n.Fits(24 * gib); fits != -1 ||
		!strings.HasPrefix(text, "it does not fit 24.0 GiB: it needs at least 80") {
		t.Errorf("%d, %s", fits, text)
	}
	if fits, text := n.Fits(141 * gib); fits != 0 ||
		!strings.HasPrefix(text, "whether it fits 141 GiB is not known: ") {
		t.Errorf("%d, %s", fits, text)
	}
	run.Meta.ExitCode = new(int) // the twin caught it and went on
	if n, ok = peak.NeedOf(run, nil); !ok || n.Cut || n.Least != 3*gib {
		t.Errorf("%+v", n)
	}
}
