package verdict

import (
	"math"

	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/growth"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/series"
)

// confidenceOf is the probability that a decision is right: the score of its
// evidence by the map fitted on the corpus's tuning seeds (see
// internal/eval/scoreboard), within the bounds of experiments. Evidence the corpus
// does not have keeps its stated trust.
func confidenceOf(x *growth.Examined, d decision) float64 {
	p := 0.
	switch {
	case d.class == Undecided:
	case d.restsOn == ByTrend:
		p = finding.OfTrend(d.score)
		if d.primary == series.Handles {
			p = math.Min(p, x.HandleTrust())
		}
	case d.restsOn == "" && d.class == None:
		p = finding.OfNone(d.score)
	default:
		p = stat.Clamp(d.score, 0, finding.Certain)
	}
	return d.boundBy(p)
}

// boundBy is a confidence within the bounds of experiments, one after the other.
func (d *decision) boundBy(p float64) float64 {
	for _, b := range d.bounds {
		p = math.Min(math.Max(p, b.least), b.most)
	}
	return p
}

// Score is what a verdict's confidence is looked up by, for the generator of
// the map: rests is "trend", "none", or empty when the confidence is not
// calibrated on a corpus.
func Score(v *Verdict) (rests string, score float64) { return v.scoreKind, v.score }
