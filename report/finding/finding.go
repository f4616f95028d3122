package finding

import (
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/series"
)

// Owner is whose a growth is.
type Owner int

// The owners. A growth of host memory is the driver's or the host's; nobody's is
// where nothing grows, and unknown where the samples do not tell whether
// something does, or whose it is.
const (
	Unknown Owner = iota
	Nobody
	TheProgram
	ThePool
	TheDriver
	TheHost
)

// Finding is what one kind of evidence says of a process.
type Finding struct {
	By    Evidence   // empty where nothing was found that grows
	Of    series.Key // the series that grows; series.Keys for none
	Owner Owner
	Score float64 // how strong the evidence is, before calibration
	Size  float64 // the growth or leftover, in bytes or things
	Why   string  // the reason of an unknown owner, or what was seen
	// Lacking is set where something was not recorded: more time would not
	// settle who the owner is.
	Lacking bool
	Note    string // a warning that goes with it
	Holder  string // the path that holds the most of it; empty where none is known
	Beside  string // the path of a container with a bound that fills up beside Holder; empty where there is none
	// Floor is set where the account's floor rises as the holder does, below what comes and goes.
	Floor bool
	Site  string // the one place that asked for it; empty where none is known
}

// OwnerOf is whose the bytes or things of a series are; host memory is the host's
// where nothing tells it from the driver's.
func OwnerOf(k series.Key) Owner {
	switch k {
	case series.Live, series.Count:
		return TheProgram
	case series.Idle:
		return ThePool
	case series.Untracked, series.Handles:
		return TheDriver
	}
	return TheHost
}

// Trust is how far a finding is believed: a trend's evidence by the map fitted on the
// corpus.
func (f *Finding) Trust() float64 {
	if f.By == ByTrend {
		return OfTrend(f.Score)
	}
	return stat.Clamp(f.Score, 0, Certain)
}
