package verdict

import (
	"math/rand/v2"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// A program of which samples came ever more often while a step was under way: what is live is
// either what the model has, or two MiB more.
func TestRowsThatFallIntoAStepEverMoreOftenAreNoGrowth(t *testing.T) {
	t.Parallel()
	accused := func(seed uint64, leak float64) bool {
		r := rand.New(rand.NewPCG(seed, 1))
		p := newProgram(900).healthy().set(record.ColLive, func(i int) float64 {
			live := 102*kib + leak*float64(i)/900
			if r.Float64() < .45+.5*float64(i)/900 {
				live += 2 * mib
			}
			return live
		})
		return p.judge().Verdict == AppLeak
	}
	leaks := 0
	for seed := range uint64(20) {
		if accused(seed, 0) {
			t.Errorf("seed %d: accused", seed)
		}
		if accused(seed, 4*mib) {
			leaks++
		}
	}
	if leaks < 15 {
		t.Errorf("a leak below the same steps is seen in %d of 20", leaks)
	}
}
