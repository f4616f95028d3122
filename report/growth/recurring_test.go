package growth

import "testing"

func TestRecursWantsTheSameLevelsToTheEnd(t *testing.T) {
	t.Parallel()
	clock := make([]float64, 400)
	for i := range clock {
		clock[i] = float64(i) / 10
	}
	teeth := func(i int) float64 { return 80*mib + float64(i/20%2)*30*mib }
	for name, c := range map[string]struct {
		y    func(i int) float64
		want bool
	}{
		"two levels":                       {func(i int) float64 { return teeth(i) }, true},
		"a low level once":                 {func(i int) float64 { return 80*mib + float64(min(1, i/20%7))*30*mib }, true},
		"levels that rise":                 {func(i int) float64 { return teeth(i) + float64(i)*64*kib }, false},
		"levels that rise in the end":      {func(i int) float64 { return teeth(i) + float64(max(0, i-300))*mib }, false},
		"teeth that get higher":            {func(i int) float64 { return 80*mib + float64(i/20%2)*float64(i)*mib }, false},
		"no level that comes again":        {func(i int) float64 { return float64(80+i*i%977)*mib + float64(i)*64*kib }, false},
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
