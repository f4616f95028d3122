package verdict

import (
	"math"

	"github.com/gpumem/gpumem/report/cause"
	"github.com/gpumem/gpumem/tracer/record"
)

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
