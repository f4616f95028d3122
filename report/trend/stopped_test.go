package trend

import (
	"math"
	"testing"
)

// blocksOf are the blocks of a window of n, one a second.
func blocksOf(n int, level func(i int) float64) *Growth {
	g := &Growth{Known: true, Delta: 1}
	for i := range n {
		g.BlockX, g.BlockY = append(g.BlockX, float64(i)), append(g.BlockY, level(i))
	}
	return g
}

func TestASeriesHasStoppedWhenItPausesForLongerThanItEverDid(t *testing.T) {
	t.Parallel()
	filled := func(every, until int) func(i int) float64 {
		return func(i int) float64 { return 10 * float64(min(i, until)/every) }
	}
	for name, c := range map[string]struct {
		level func(i int) float64
		want  bool
	}{
		"filled up early":                  {filled(1, 20), true},
		"filled up in portions":            {filled(5, 20), true},
		"the pause is hardly longer":       {filled(13, 28), false},
		"a fifth of the window is no long": {filled(1, 32), false},
		"it still rises":                   {func(i int) float64 { return float64(i) }, false},
		"it dips now and then": {func(i int) float64 {
			return filled(1, 10)(i) - float64(5*(i%7/6))
		}, true},
		"one peak hides a rise": {func(i int) float64 {
			if i == 2 {
				return 100
			}
			return float64(i)
		}, false},
		"a quantum came again, as before": {func(i int) float64 { return .5 * float64(i/18) }, false},
	} {
		if _, got := blocksOf(40, c.level).Stopped(math.Inf(-1)); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	loaded := blocksOf(40, filled(1, 20))
	if loaded.Loaded = true; stopped(loaded) {
		t.Error("what follows a load stops with it")
	}
}

func TestWhatPausedBeforeTheWorkBeganIsNoPause(t *testing.T) {
	t.Parallel()
	g := blocksOf(40, func(i int) float64 { return 10 * float64(min(max(i, 14), 22)) })
	g.BlockY[0] = 0
	if stopped(g) {
		t.Error("it paused for nearly as long before")
	}
	if since, ok := g.Stopped(13); !ok || since != 22 {
		t.Errorf("after a start of 13: since %g, %v", since, ok)
	}
}

func stopped(g *Growth) bool {
	_, ok := g.Stopped(math.Inf(-1))
	return ok
}
