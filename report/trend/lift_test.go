package trend

import (
	"math"
	"math/rand/v2"
	"testing"
)

// climbs is a series that climbs by about 40 a second in each part of a minute, now a
// little faster and now slower, as a program on a busy machine does.
func climbs(r *rand.Rand, steps int) (t, y []float64) {
	at, level, rate := 0., 0., 0.
	for i := range 1200 {
		if i%(60+20*steps) == 0 {
			rate = 39 + 9*r.Float64()
			if r.IntN(3) == 0 {
				rate *= 1.8
			}
		}
		at, level = at+.05, level+.05*rate
		t, y = append(t, at), append(y, (level+r.NormFloat64())*(1<<20))
	}
	return t, y
}

func TestARateIsNoLowerThanThatOfEveryPartOfTheWindow(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(11, 1))
	grew := 0
	for n := range 1000 {
		at, y := climbs(r, n%5)
		a := Axes{T: at}
		g := a.Examine(y, Question{Delta: 1 << 20, Share: TroughShare, Net: .5, Conditions: ForReport()})
		if !g.Growing() {
			continue
		}
		grew++
		if g.Axis != ByTime {
			continue
		}
		least, third := math.Inf(1), (len(y)-g.From)/3
		for i := g.From; i+third <= len(y); i += third {
			least = math.Min(least, (y[i+third-1]-y[i])/(at[i+third-1]-at[i]))
		}
		if g.High < least-(2<<20) {
			t.Errorf("%.1f MiB/s (%.1f … %.1f), and no third climbs by less than %.1f", g.Rate/(1<<20), g.Low/(1<<20),
				g.High/(1<<20), least/(1<<20))
		}
	}
	if grew < 100 {
		t.Errorf("%d of 1000 grow", grew)
	}
}
