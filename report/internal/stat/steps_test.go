package stat

import (
	"math"
	"slices"
	"testing"
)

func TestStepsAreTheRisesOfACounterWithWhatCameMeanwhile(t *testing.T) {
	t.Parallel()
	unknown := math.NaN()
	count := []float64{unknown, 4, 4, unknown, 6, 5, 7}
	live, idle := []float64{9, 10, 12, 13, 14, 14, 20}, []float64{0, 1, 1, 1, 7, 7, 7}
	want := []Step{{2, 8}, {2, 6}}
	if got := Steps(count, live, idle); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if got := Steps(count, live[1:]); got != nil {
		t.Errorf("of another length: %v", got)
	}
}
