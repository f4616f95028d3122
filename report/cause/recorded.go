package cause

import (
	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/account"
)

// Recording is a profiler of the program's own, or the history of its allocator, that went on recording while
// memory grew.
type Recording struct {
	By      string  // "torch.profiler", or ByAllocator
	Site    string  // the line that begins it, as "file:line function"; empty where none is known
	Seconds float64 // for which it had recorded when it was told last
}

// ByAllocator is what tells the history of PyTorch's allocator.
const ByAllocator = "torch.cuda.memory"

// recorded: host memory grows while the program records itself. A profiler of PyTorch's keeps what
// it records until it stops, and the history of its allocator without a bound what it notes.
func recorded(c *Case) *Cause {
	if c.Recording == nil || c.Class != account.HostGrowth || !c.ByTrend {
		return nil
	}
	found := &Cause{ID: Buffers, Confidence: .75 * c.Confidence, Site: c.Recording.Site,
		Evidence: evidence("%s had recorded for %s without a stop, and keeps each operation until it stops",
			c.Recording.By, units.Span(c.Recording.Seconds)),
		Next: "give the profiler a schedule, or stop it after some steps: it keeps what it records until it stops",
		Change: []string{"- with profile(activities=activities) as profiler:",
			"+ with profile(activities=activities, schedule=schedule(wait=1, warmup=1, active=3, repeat=1)) as profiler:"}}
	if c.Recording.By == ByAllocator {
		found.Next = "give the history a bound, or stop it after some steps: without one it keeps each allocation, " +
			"with its stack"
		found.Change = []string{"- torch.cuda.memory._record_memory_history()",
			"+ torch.cuda.memory._record_memory_history(max_entries=100_000)"}
	}
	return found
}
