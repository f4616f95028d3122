package account

// Class says whose memory grows.
type Class string

// The classes: nobody's, the growth of one of the four accounts, and one whose
// owner, or whether it is one, the samples do not tell.
const (
	None         Class = "none"
	AppLeak      Class = "app-leak"
	PoolGrowth   Class = "pool-growth"
	DriverGrowth Class = "driver-growth"
	HostGrowth   Class = "host-growth"
	Undecided    Class = "undecided"
)
