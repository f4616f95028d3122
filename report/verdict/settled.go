package verdict

import (
	"github.com/gpumem/gpumem/report/evidence"
	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/growth"
	"github.com/gpumem/gpumem/report/series"
)

// decision is what the findings come to.
type decision struct {
	class   Class
	primary series.Key // the series whose growth gave the verdict; series.Keys when none did
	restsOn Evidence
	score   float64          // of the evidence, before calibration
	size    float64          // the growth or leftover the verdict is about
	why     string           // the reason of an undecided, or what was seen of a refill
	lacking bool             // undecided for what was not recorded: more time would not settle it
	shares  *evidence.Shares // of the growth, when it is shared out
	notes   []string
	bounds  []bound // of the confidence, in order
	site    string  // the one place that asked for what grows; empty where none is known

	confidence float64
}

// bound is what an experiment leaves of the confidence.
type bound struct{ least, most float64 }

// settled is a process with what was decided of it.
type settled struct {
	growth.Examined
	decision
	found []FindingRow
	// objects is what the looks found of containers; nil where nothing.
	objects *finding.Finding
	held    string // the path that got longer at each look and explains the growth; or empty
}

// open reports whether nothing was found that grows.
func (d *decision) open() bool {
	return d.class == None || d.class == Undecided && d.primary == series.Keys
}

// tier is how sure the decision is.
func (d *decision) tier() Tier {
	switch {
	case d.class == Undecided || d.confidence < .6:
		return TierUndecided
	case d.confidence >= .95:
		return Confirmed
	case d.confidence >= .8:
		return Likely
	}
	return Suspected
}

// grows reports whether something of the process surely grows, its owner known or not.
func (d *decision) grows() bool {
	return gravity(d.class) > gravity(Undecided) || d.class == Undecided && d.primary == series.Device
}

func gravity(c Class) int {
	switch c {
	case None:
		return 0
	case Undecided:
		return 1
	}
	return 2
}
