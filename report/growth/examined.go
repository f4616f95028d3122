package growth

import (
	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
)

// Examined is a process with the growth of each of its series.
type Examined struct {
	series.Process
	Grow    Growths
	Kind    account.HandleKind // of series.Handles
	Tested  []float64          // p-values of all kinds of handles
	Records DriverRecords

	Ages          *finding.Finding // of the generations of its allocator's blocks; nil where they say nothing
	SettledByAges bool             // it is they that say that what is live is bounded

	conditions trend.Conditions
	KeptMore   string // what says so where it is the collected heap that tells of the host's growth
}
