package verdict

import (
	"github.com/gpumem/gpumem/report/series"
)

// slope is one stretch of a short run.
type slope struct{ bytes, seconds, steps float64 }

// stretches are the parts of a short series between its known rows.
func stretches(l *series.Accounts, k series.Key) []slope {
	var out []slope
	last := -1
	for i, v := range l.Series[k] {
		if v != v {
			continue
		}
		if last >= 0 {
			p := slope{bytes: v - l.Series[k][last], seconds: l.Clock[i] - l.Clock[last]}
			if l.Step != nil {
				p.steps = l.Step[i] - l.Step[last]
			}
			out = append(out, p)
		}
		last = i
	}
	return out
}
