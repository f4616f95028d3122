package verdict

import (
	"sort"

	"github.com/gpumem/gpumem/report/internal/stat"
)

// knot is one point of a calibration map: of the tuning corpus's verdicts
// with about this score, the part p was right.
type knot struct{ score, p float64 }

// certain bounds every confidence: a corpus of some thousands of traces
// cannot vouch for more.
const certain = .99

// lookup interpolates a map linearly; beyond its ends it is constant.
func lookup(k []knot, score float64) float64 {
	if len(k) == 0 {
		return stat.Clamp(score, 0, certain)
	}
	i := sort.Search(len(k), func(i int) bool { return k[i].score >= score })
	switch {
	case i == 0:
		return stat.Clamp(k[0].p, 0, certain)
	case i == len(k):
		return stat.Clamp(k[len(k)-1].p, 0, certain)
	}
	a, b := k[i-1], k[i]
	w := (score - a.score) / (b.score - a.score)
	return stat.Clamp(a.p+w*(b.p-a.p), 0, certain)
}
