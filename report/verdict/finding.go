package verdict

import "github.com/gpumem/gpumem/report/series"

// owner is whose a growth is.
type owner int

// The owners. A growth of host memory is the driver's or the host's; nobody's is
// where nothing grows, and unknown where the samples do not tell whether
// something does, or whose it is.
const (
	unknown owner = iota
	nobody
	theProgram
	thePool
	theDriver
	theHost
)

// finding is what one kind of evidence says of a process.
type finding struct {
	by    Evidence   // empty where nothing was found that grows
	of    series.Key // the series that grows; keys for none
	owner owner
	score float64 // how strong the evidence is, before calibration
	size  float64 // the growth or leftover, in bytes or things
	why   string  // the reason of an unknown owner, or what was seen
	// lacking is set where something was not recorded: more time would not
	// settle who the owner is.
	lacking bool
	note    string // a warning that goes with it
	holder  string // the path that holds the most of it; empty where none is known
}

// ownerOf is whose the bytes or things of a series are; host memory is the host's
// where nothing tells it from the driver's.
func ownerOf(k series.Key) owner {
	switch k {
	case series.Live, series.Count:
		return theProgram
	case series.Idle:
		return thePool
	case series.Untracked, series.Handles:
		return theDriver
	}
	return theHost
}
