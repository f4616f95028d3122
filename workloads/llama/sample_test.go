package llama_test

import (
	"math"
	"slices"
	"testing"

	"github.com/gpumem/gpumem/workloads/llama"
)

// drawn counts what a sampler chooses of many.
func drawn(s *llama.Sampler, logits []float32, times int) []int {
	counts := make([]int, len(logits))
	for range times {
		counts[s.Pick(logits)]++
	}
	return counts
}

func TestTokensAreDrawnAsOftenAsTheirProbabilitySays(t *testing.T) {
	t.Parallel()
	logits := []float32{0, float32(math.Log(3)), float32(math.Log(4)), -100} // 1, 3 and 4 eighths
	const times = 20_000
	for _, c := range []struct {
		name string
		s    *llama.Sampler
		want []float64
	}{
		{"all", llama.NewSampler(1, 0, 1, 1), []float64{.125, .375, .5, 0}},
		{"half the temperature", llama.NewSampler(.5, 0, 1, 1), []float64{1. / 26, 9. / 26, 16. / 26, 0}},
		{"the two most likely", llama.NewSampler(1, 2, 1, 1), []float64{0, 3. / 7, 4. / 7, 0}},
		{"what has just half", llama.NewSampler(1, 0, .499, 1), []float64{0, 0, 1, 0}},
		{"what has 0.6", llama.NewSampler(1, 0, .6, 1), []float64{0, 3. / 7, 4. / 7, 0}},
		{"greedy", llama.NewSampler(0, 0, 1, 1), []float64{0, 0, 1, 0}},
	} {
		for i, n := range drawn(c.s, logits, times) {
			if got := float64(n) / times; math.Abs(got-c.want[i]) > .02 {
				t.Errorf("%s: token %d in %.3f of the draws, want %.3f", c.name, i, got, c.want[i])
			}
		}
	}
}

func TestASeedGivesTheSameTokens(t *testing.T) {
	t.Parallel()
	logits := []float32{1, 1, 1, 1, 1}
	draw := func(seed int64) (list []int) {
		s := llama.NewSampler(1, 0, 1, seed)
		for range 50 {
			list = append(list, s.Pick(logits))
		}
		return list
	}
	if !slices.Equal(draw(3), draw(3)) || slices.Equal(draw(3), draw(4)) {
		t.Error("a seed gives other tokens, or another seed the same")
	}
}
