package cause

import (
	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// lazyPages: on unified memory the device's counter stepped up, the footprint
// came after it as pages were touched, and both stand still since.
func lazyPages(c *Case) *Cause {
	if c.Class != account.None || c.Short || !c.Unified {
		return nil
	}
	gpu, host := c.Whole.Columns[record.ColGPU], c.Host.Whole
	if gpu == nil || host == nil {
		return nil
	}
	n := c.untilJudged()
	a, f := settles(gpu[:n]), settles(stat.Plus(host, gpu)[:n])
	if a.rise < leastMoved || f.rise < .5*a.rise || f.rise > 1.5*a.rise {
		return nil
	}
	if a.last > n/2 || f.last > n*3/4 || f.half < a.half+max(5, n/20) {
		return nil
	}
	return &Cause{ID: WarmUp, Confidence: .8,
		Evidence: evidence("the device's counter rose by %s, the footprint by %s %.1f s later; "+
			"neither rises since",
			units.Bytes(a.rise), units.Bytes(f.rise), c.Whole.Clock[f.half]-c.Whole.Clock[a.half]),
		Next: "nothing: pages count from their first use on; judge the program after its warm-up"}
}

// settled is the part of a rise from which on it has come to its end: memory
// that comes and goes with the work may be the rest.
const settled = .85

// settling is a rise that came to its end: the rows at which half of it, and
// most, were reached for good.
type settling struct {
	rise       float64
	half, last int
}

func settles(v []float64) settling {
	k := stat.Known(v)
	if len(k) < trend.LeastRows {
		return settling{}
	}
	end := stat.Median(k[len(k)*7/8:])
	s := settling{rise: end - k[0]}
	for i, x := range v {
		if x < k[0]+.5*s.rise {
			s.half = i
		}
		if x < k[0]+settled*s.rise {
			s.last = i
		}
	}
	return s
}
