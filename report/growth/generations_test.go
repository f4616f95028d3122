package growth

import (
	"testing"

	"github.com/gpumem/gpumem/report/series"
)

// tables is what is live of a program that serves some games at a time, 20 rows a second for 40 s: between two
// levels in MiB, with what is added, and one moment at which all ended at once.
func tables(added func(second float64) float64, dip float64) *series.Accounts {
	const rows = 800
	l := &series.Accounts{Track: &series.Track{Clock: make([]float64, rows)}}
	live := make([]float64, rows)
	for i := range rows {
		t := float64(i) / 20
		l.Clock[i], live[i] = t, (78+float64(i*37%16)+added(t))*mib
		if dip > 0 && t >= dip && t < dip+.5 {
			live[i] = 69 * mib
		}
	}
	l.Series[series.Live] = live
	return l
}

func TestWhatIsLiveIsAsLowAsInAPartOfTheTimeOfTheGenerations(t *testing.T) {
	t.Parallel()
	nothing := func(float64) float64 { return 0 }
	for name, c := range map[string]struct {
		l    *series.Accounts
		want bool
	}{
		"as it was":                               {tables(nothing, 0), true},
		"once it was lower, by chance":            {tables(nothing, 14), true},
		"it rises by a quarter of a MiB a second": {tables(func(t float64) float64 { return t / 4 }, 0), false},
		"it rises, and once it was lower":         {tables(func(t float64) float64 { return t / 4 }, 14), false},
	} {
		if got := isAsLow(c.l, series.Live, 8, 28, mib); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
