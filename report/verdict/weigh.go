package verdict

import (
	"math"

	"github.com/gpumem/gpumem/report/cause"
	"github.com/gpumem/gpumem/report/evidence"
	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/growth"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// weighAges lets the ages of blocks stand beside the trend, as containers do.
func weighAges(s *settled, f *finding.Finding) {
	d := &s.decision
	switch {
	case f == nil || f.Owner == finding.Unknown:
		if f != nil && d.class == Undecided {
			d.notes = append(d.notes, f.Why)
		}
	case f.Owner == finding.Nobody:
		if s.SettledByAges && d.class == None && d.restsOn == "" {
			d.take(*f)
		}
	case d.class == None && (d.restsOn == ByObjects || ringHasThem(s)): // a container with a bound fills up
	case d.class == Undecided && (d.primary == series.Keys || d.primary == series.Live), d.class == None &&
		d.restsOn == "":
		d.take(*f)
		d.shares, d.lacking = nil, false
		s.Grow[series.Live].Shape = trend.Growing
	case d.class == AppLeak && d.primary == series.Live && d.restsOn != ByLeftover:
		d.bounds = append(d.bounds, bound{least: f.Score, most: 1})
	}
}

// ringHasThem reports whether what is live came in a container with a bound.
func ringHasThem(s *settled) bool {
	return s.objects != nil && s.objects.Owner == finding.Nobody && s.objects.Of != series.Host
}

// weighManaged lets managed memory decide that no account has, where nothing grows or
// something far smaller does.
func (d *decision) weighManaged(f *finding.Finding) {
	if f == nil || d.grows() && f.Size <= evidence.Dwarfs*d.size {
		return
	}
	d.take(*f)
	d.shares, d.lacking = nil, false
}

// untouched is how much of the device memory that a program takes the footprint
// does not show: on unified memory pages count from their first use on, so what
// is left of the footprint beyond the device's bytes falls while these grow. What
// of the footprint is host memory is then unknown, and between nothing and all of
// it. 0 when the host account does not fall so.
func untouched(x *growth.Examined) float64 {
	grows := x.Grow[series.Live].Growing() || x.Grow[series.Idle].Growing() ||
		x.Grow[series.Untracked].Growing()
	if !x.Judged.Unified() || !grows {
		return 0
	}
	if fell := x.Grow.Shrinks(series.Host); fell > x.Grow[series.Host].Delta {
		return fell
	}
	return 0
}

// What an experiment proves: the part of a growth that it must return to show whose
// the growth was, and the part below which a purge that claims more was in vain; and
// the confidence that is then left, at least and at most.
const (
	decisive = .5
	inVain   = .1
	proves   = .97
	doubts   = .8
)

// nothingBack reports whether a collection and a purge were tried, and neither gave
// a part of the growth back.
func nothingBack(receipts []Experiment, grown float64) bool {
	return mostBack(receipts, record.ActionCollect) < cause.CyclePart*grown &&
		mostBack(receipts, record.ActionPurge) < cause.CyclePart*grown
}

// mostBack is the most that an action's experiments returned; NaN when none was
// measured.
func mostBack(receipts []Experiment, action string) float64 {
	most := math.NaN()
	for _, r := range receipts {
		if r.Action == action && (r.ReturnedBytes != nil || r.GPUBytes != nil) && !(r.Returned() <= most) {
			most = r.Returned()
		}
	}
	return most
}
