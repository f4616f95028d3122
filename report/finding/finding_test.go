package finding

import (
	"testing"

	"github.com/gpumem/gpumem/report/series"
)

func TestTrustRisesWithTheScoreAndIsNeverCertainty(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]func(float64) float64{"a trend": OfTrend, "none": OfNone} {
		last := 0.
		for score := -1.; score < 40; score += .01 {
			p := of(score)
			if p < last || p > Certain {
				t.Fatalf("%s with the score %.2f is believed to %.4f, after %.4f", name, score, p, last)
			}
			last = p
		}
		if first := of(-1); !(first < last) {
			t.Errorf("%s is believed to %.4f whatever its score", name, first)
		}
	}
	if sure := (&Finding{By: ByLeftover, Score: 7}).Trust(); sure != Certain {
		t.Errorf("evidence that the corpus does not have is believed to %.4f", sure)
	}
}

func TestEachSeriesHasTheOwnerOfItsAccount(t *testing.T) {
	t.Parallel()
	for k, want := range map[series.Key]Owner{series.Live: TheProgram, series.Count: TheProgram, series.Idle: ThePool,
		series.Untracked: TheDriver, series.Handles: TheDriver, series.Host: TheHost, series.Heap: TheHost} {
		if got := OwnerOf(k); got != want {
			t.Errorf("series %d is of owner %d, want %d", k, got, want)
		}
	}
}
