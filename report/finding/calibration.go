package finding

import (
	"sort"

	"github.com/gpumem/gpumem/report/internal/stat"
)

// knot is one point of a calibration map: of the tuning corpus's verdicts
// with about this score, the part p was right.
type knot struct{ score, p float64 }

// Certain bounds every confidence: a corpus of some thousands of traces
// cannot vouch for more.
const Certain = .99

// lookup interpolates a map linearly; beyond its ends it is constant.
func lookup(k []knot, score float64) float64 {
	if len(k) == 0 {
		return stat.Clamp(score, 0, Certain)
	}
	i := sort.Search(len(k), func(i int) bool { return k[i].score >= score })
	switch {
	case i == 0:
		return stat.Clamp(k[0].p, 0, Certain)
	case i == len(k):
		return stat.Clamp(k[len(k)-1].p, 0, Certain)
	}
	a, b := k[i-1], k[i]
	w := (score - a.score) / (b.score - a.score)
	return stat.Clamp(a.p+w*(b.p-a.p), 0, Certain)
}

// OfTrend is how far the evidence of a trend is believed, in decades.
func OfTrend(score float64) float64 { return lookup(trendKnots[:], score) }

// OfNone is how far it is believed that nothing grows, by how far below what would matter the
// upper bounds of growth stay.
func OfNone(score float64) float64 { return lookup(noneKnots[:], score) }
