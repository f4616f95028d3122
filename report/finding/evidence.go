package finding

// Evidence is a kind of evidence.
type Evidence string

// The kinds of evidence: a trend while the program runs; what was left
// between the marks baseline and released, or grew from one released to the
// next; the mere size of the growth in a run too short for either; a pool that
// filled again and again until allocations failed; workers that were started one
// after the other and never ended; containers that were longer at each look.
const (
	ByTrend     Evidence = "trend"
	ByLeftover  Evidence = "leftover"
	ByMagnitude Evidence = "magnitude"
	ByRefill    Evidence = "refill"
	ByProcesses Evidence = "processes"
	ByObjects   Evidence = "objects"
	ByHandles   Evidence = "handles" // in findings alone
	// ByHazards is of buffers that were handed out while the device still used them:
	// in findings alone, as it is no growth.
	ByHazards Evidence = "hazards"
)
