package growth

import (
	"testing"

	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
)

func TestRecursWantsTheSameLevelsToTheEnd(t *testing.T) {
	t.Parallel()
	clock := make([]float64, 400)
	for i := range clock {
		clock[i] = float64(i) / 10
	}
	teeth := func(i int) float64 { return 80*mib + float64(i/20%2)*30*mib }
	dip := func(i int) float64 { // ever more seldom, and less deep
		if every := 4 + i/40; i%every == every-1 {
			return float64(400-i) / 50 * mib
		}
		return 0
	}
	for name, c := range map[string]struct {
		y    func(i int) float64
		want bool
	}{
		"two levels":       {func(i int) float64 { return teeth(i) }, true},
		"a low level once": {func(i int) float64 { return 80*mib + float64(min(1, i/20%7))*30*mib }, true},
		"a high level, left ever more seldom": {func(i int) float64 {
			return 80*mib - dip(i)
		}, true},
		"a high level that rises, left ever more seldom": {func(i int) float64 {
			return 80*mib - dip(i) + float64(i)*8*kib
		}, false},
		"levels that rise":            {func(i int) float64 { return teeth(i) + float64(i)*64*kib }, false},
		"levels that rise in the end": {func(i int) float64 { return teeth(i) + float64(max(0, i-300))*mib }, false},
		"teeth that get higher":       {func(i int) float64 { return 80*mib + float64(i/20%2)*float64(i)*mib }, false},
		"no level that comes again": {
			func(i int) float64 { return float64(80+i*i%977)*mib + float64(i)*64*kib }, false},
		"a low level that rises, of teeth": {func(i int) float64 { return max(teeth(i), 80*mib+float64(i)*64*kib) }, false},
	} {
		y := make([]float64, len(clock))
		for i := range y {
			y[i] = c.y(i)
		}
		if got := recurs(clock, y, mib/2); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestComesDownWantsTheLowestLevelAgainAndLately(t *testing.T) {
	t.Parallel()
	clock := make([]float64, 400)
	for i := range clock {
		clock[i] = float64(i) / 20
	}
	for name, c := range map[string]struct {
		y    func(i int) float64
		want bool
	}{
		"teeth of uneven height": {func(i int) float64 { return 60*mib + float64(i%97)*mib }, true},
		"one that is missed":     {func(i int) float64 { return 60*mib + float64(i%97+i/97%2*5)*mib }, true},
		"teeth above what stays": {func(i int) float64 {
			return 60*mib + float64(i%97)*mib + float64(i)*16*kib
		}, false},
		"a growth that began late": {func(i int) float64 { return 60*mib + float64(max(0, i-320))*mib }, false},
		"a growth after a fall": {func(i int) float64 {
			return float64(100-min(i, 200)/4)*mib + float64(max(0, i-200))*mib/4
		}, false},
		"a warm-up": {func(i int) float64 { return 60*mib + float64(min(i, 20))*mib }, false},
	} {
		y := make([]float64, len(clock))
		for i := range y {
			y[i] = c.y(i)
		}
		if got := comesDown(clock, y, mib/2); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestALowestLevelThatIsAGrainLowerInBetweenIsTheSame(t *testing.T) {
	t.Parallel()
	clock := make([]float64, 400)
	for i := range clock {
		clock[i] = float64(i) / 20
	}
	teeth := func(lost float64) []float64 {
		y := make([]float64, len(clock))
		for i := range y {
			y[i] = 60*mib + float64(i%97)*mib
			if i > 150 && i < 200 {
				y[i] = 59 * mib
			}
			if i > 200 {
				y[i] += lost
			}
		}
		return y
	}
	for _, c := range []struct {
		lost, grain float64
		want        bool
	}{
		{0, mib / 2, false},
		{0, mib, true},
		{2 * mib, mib, false},
	} {
		if got := comesDown(clock, teeth(c.lost), c.grain); got != c.want {
			t.Errorf("%.0f bytes stayed, grain %.0f: %v", c.lost, c.grain, got)
		}
	}
}

func TestWhatAPoolTakesAtOnceIsOneRise(t *testing.T) {
	t.Parallel()
	clock := make([]float64, 400)
	for i := range clock {
		clock[i] = float64(i) / 20
	}
	taken := func(at ...int) []float64 {
		y := make([]float64, len(clock))
		for i := range y {
			y[i] = 80 * mib
			for _, row := range at {
				if i >= row {
					y[i] += 20 * mib
				}
			}
		}
		return y
	}
	if most, ok := roseOnce(clock, taken(200, 212, 224)); !ok || most != 60*mib {
		t.Errorf("three segments in 1.2 s: %v, %.0f", ok, most)
	}
	if _, ok := roseOnce(clock, taken(150, 200)); ok {
		t.Error("two with 2.5 s between them are one")
	}
	if _, ok := roseOnce(clock, taken(370, 380)); ok {
		t.Error("a rise just before the end is past")
	}
}

func TestAPoolThatNeverTookMoreKeepsNoMoreHoweverItFollowsTheLoad(t *testing.T) {
	t.Parallel()
	for taken, want := range map[float64]trend.Shape{0: trend.Bounded, 40: trend.ShapeUndecided} {
		clock, live, idle := make([]float64, 400), make([]float64, 400), make([]float64, 400)
		for i := range clock {
			clock[i], live[i] = float64(i)/20, 60*mib
			if idle[i] = 64 * mib; i%40 < 10 { // it is emptied
				idle[i] = 2 * mib
			}
			idle[i] += taken * mib * float64(i/100)
		}
		x := &Examined{}
		x.Judged = &series.Accounts{Track: &series.Track{Clock: clock}}
		x.Judged.Series[series.Live], x.Judged.Series[series.Idle] = live, idle
		x.Grow[series.Live] = trend.Growth{Known: true, Shape: trend.Flat}
		x.Grow[series.Idle] = trend.Growth{Known: true, Shape: trend.ShapeUndecided, Loaded: true}
		x.settleRecurring()
		if got := x.Grow[series.Idle].Shape; got != want {
			t.Errorf("%.0f MiB more each 5 s: %v", taken, got)
		}
	}
}
