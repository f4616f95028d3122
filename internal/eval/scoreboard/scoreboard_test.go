package main

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/internal/eval/corpus"
	"github.com/gpumem/gpumem/report/verdict"
)

func TestTheMapOfConfidenceRisesAndCountsHealthyProgramsTenfold(t *testing.T) {
	t.Parallel()
	var all []*result
	for i := range 1000 {
		r := &result{Trace: &corpus.Trace{Truth: corpus.AppLeak},
			verdict: &verdict.Verdict{Verdict: verdict.AppLeak}}
		if i%50 == 0 && i < 500 { // one false alarm in fifty of low score
			r.Truth = corpus.None
		}
		all = append(all, r)
	}
	var p []point
	for i, r := range all {
		p = append(p, pointOf(r, "trend", float64(i)))
	}
	knots := isotonic(p)
	for i := 1; i < len(knots); i++ {
		if knots[i].score <= knots[i-1].score || knots[i].right <= knots[i-1].right {
			t.Errorf("knot %d does not rise: %+v after %+v", i, knots[i], knots[i-1])
		}
	}
	// Two false alarms among 98 right ones, as if nine times as many: 98 of 116.
	if want := 99. / 118; math.Abs(knots[0].right-want) > .02 {
		t.Errorf("of low score %.3f are right, want about %.3f", knots[0].right, want)
	}
}

func TestTheUpperEndOfAnIntervalLiesAboveThePart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		k, n int
		want float64
	}{{0, 100, .0370}, {5, 100, .1118}, {1, 5000, .0011}} { // Wilson (1927)
		if got := upTo(c.k, c.n); math.Abs(got-c.want) > .0002 {
			t.Errorf("%d of %d: up to %.4f, want %.4f", c.k, c.n, got, c.want)
		}
	}
}

func TestASmallScoreboardHasAllItsTables(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	var out bytes.Buffer
	if err := run(&out, options{n: 56, healthy: 2, driven: 20, seed: 5}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"truth \\ said", "macro-F1", "gpumem, confirmed only", "Mann-Kendall",
		"load ramp", "further healthy traces, seed 6",
		"rate error", "calibration error", "growth driven by", "command_buffer and shape", "online, ",
		"made to mislead", "real traces right: gpumem 24 of 24"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
