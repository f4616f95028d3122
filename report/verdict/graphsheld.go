package verdict

import (
	"math"

	"github.com/gpumem/gpumem/report/cause"
	"github.com/gpumem/gpumem/report/looks"
	"github.com/gpumem/gpumem/tracer/record"
)

const (
	asManyGraphs = .15 // of the graphs that are alive, by which a container may have more or fewer elements
	nearALook    = .5  // seconds from a look, in which their number is read
)

// keptGraphs says who keeps the captured graphs that are the first cause, as a part of a sentence: the
// container that had an element for each graph that was alive. The graphs themselves are the
// driver's, so that what it is told to hold are the arrays that they work on.
func keptGraphs(s *settled, causes []Cause) string {
	if len(causes) == 0 || causes[0].Confidence < sureEnough || causes[0].ID != cause.GraphPools {
		return ""
	}
	var kept *record.Holder
	least := asManyGraphs
	courses := looks.Courses(&s.Examined.Process)
	for i := range courses {
		c := &courses[i]
		last := &c.Looks[len(c.Looks)-1]
		if last.Holder.Bound > 0 || last.Holder.Length <= c.Looks[0].Holder.Length || !hasName(c.Path) {
			continue
		}
		alive := graphsAt(s, last.At)
		if off := math.Abs(float64(last.Holder.Length)-alive) / alive; off <= least {
			kept, least = &last.Holder, off
		}
	}
	if kept == nil {
		return ""
	}
	return ", kept in " + kept.Kept() + filledAt(kept, "")
}

// severalPieces are as many as may lie between what a pool has idle.
const severalPieces = 3

// piecesIn says, of a pool that is in pieces, who has most of what came and lives on, as a part of a sentence.
func piecesIn(v *Verdict) string {
	if len(v.Causes) == 0 || v.Causes[0].Confidence < sureEnough || v.Causes[0].ID != cause.PoolFragmented {
		return ""
	}
	var most *HolderRow
	for i := range v.Holders {
		h := &v.Holders[i]
		if !h.Host && hasName(h.Path) && h.Count >= severalPieces && (most == nil || h.Bytes > most.Bytes) {
			most = h
		}
	}
	if most == nil {
		return ""
	}
	return "; most of what stays live went to " + most.Kept() + filledAt(most, "")
}

// graphsAt is how many captured graphs were alive at a time; NaN where nobody told.
func graphsAt(s *settled, at float64) float64 {
	alive := math.NaN()
	for i, n := range s.Judged.Cols[record.ColGraphs] {
		if n == n && math.Abs(s.Judged.Clock[i]-at) <= nearALook {
			alive = n
		}
	}
	return alive
}

// keptOutputs says who keeps the outputs whose graphs are the first cause, as a part of a sentence,
// where nobody weighed what these graphs keep: as many outputs as before, each made from the last.
func keptOutputs(v *Verdict) string {
	if len(v.Causes) == 0 || v.Causes[0].Confidence < sureEnough || v.Causes[0].ID != cause.Graph {
		return ""
	}
	h := mostOutputs(v.Holders)
	if h == nil || !hasName(h.Path) {
		return ""
	}
	return ", of outputs in " + h.Kept() + filledAt(h, "")
}
