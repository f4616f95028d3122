package growth

import (
	"math"
	"slices"

	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// A program loads code when it first needs it, and the code takes host memory: a kernel's
// when it is first called (CUDA loads lazily since 11.7; 6, 18 and 24 MiB at once were
// measured of PyTorch's), and a module of Python's when a function imports it.
const (
	mostLoads = 6   // moments of a window, beyond which code comes all the time
	lateLoads = 1   // of them in the window's second half: what is loaded lazily thins out
	loadLasts = .75 // seconds that one moment takes
)

// load is a moment at which code was loaded: the last row before it, and the first row
// after it.
type load struct{ before, after int }

// settleLoads decides on host memory that is open because portions of it came when code
// was loaded: where the rest surely grew by less than matters, nothing grows.
func (x *Examined) settleLoads(c trend.Conditions) {
	var loads []load
	for _, k := range [...]series.Key{series.Host, series.Heap} {
		g, y := &x.Grow[k], x.Judged.Series[k]
		if g.Shape != trend.ShapeUndecided || y == nil {
			continue
		}
		if loads == nil {
			if loads = loadsOf(x.Judged); len(loads) == 0 {
				return
			}
		}
		rest := x.Judged.Examine(withoutLoads(y, loads), x.Judged.Question(k, c))
		if rest.Known && !rest.Growing() && rest.Shape != trend.ShapeUndecided && rest.Upper < rest.Delta {
			g.Shape, g.Known, g.Upper, g.Limit = trend.Step, true, rest.Upper, rest.Limit
		}
	}
}

// loadsOf are the moments at which the driver or Python had more modules than ever before;
// none where there are so many, or so many late ones, that modules may be what leaks.
func loadsOf(l *series.Accounts) []load {
	if l.Untimed || len(l.Clock) == 0 {
		return nil
	}
	found := loadsTogether(l, append(rises(l, record.ColModules), rises(l, record.ColImported)...))
	half := (l.Clock[0] + l.Clock[len(l.Clock)-1]) / 2
	late := slices.IndexFunc(found, func(m load) bool { return l.Clock[m.before] > half })
	if len(found) > mostLoads || late >= 0 && len(found)-late > lateLoads {
		return nil
	}
	return found
}

// rises are the moments at which a count was higher than ever before.
func rises(l *series.Accounts, column string) []load {
	var found []load
	most, last := math.Inf(1), 0 // the first count that is known is no rise
	for i, n := range l.Cols[column] {
		if n != n {
			continue
		}
		if n > most {
			found = append(found, load{last, rowAt(l, l.Clock[i]+loadLasts)})
		}
		if math.IsInf(most, 1) || n > most {
			most = n
		}
		last = i
	}
	return found
}

// loadsTogether makes one moment of those that meet.
func loadsTogether(l *series.Accounts, all []load) []load {
	slices.SortFunc(all, func(a, b load) int { return a.before - b.before })
	var found []load
	for _, m := range all {
		if n := len(found); n > 0 && m.before <= found[n-1].after {
			found[n-1].after = max(found[n-1].after, m.after)
			continue
		}
		found = append(found, m)
	}
	return found
}

// rowAt is the first row from a time on, or the last of all.
func rowAt(l *series.Accounts, t float64) int {
	i, _ := slices.BinarySearch(l.Clock, t)
	return min(i, len(l.Clock)-1)
}

// withoutLoads is a series less what came at some moments; unknown in the course of them.
func withoutLoads(y []float64, loads []load) []float64 {
	out, came := make([]float64, len(y)), 0.
	for i, v := range y {
		if len(loads) > 0 && i > loads[0].before {
			if i < loads[0].after {
				out[i] = math.NaN()
				continue
			}
			if gained := stat.Rise(y[loads[0].before : i+1]); gained > 0 {
				came += gained
			}
			loads = loads[1:]
		}
		out[i] = v - came
	}
	return out
}
