package cause

import (
	"fmt"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/account"
)

// leastFree is the part of the host's growth that must lie free in the C heap.
const leastFree = .5

// Where what is in use grows by such a part as well, what stays keeps the heap from shrinking: who
// holds that, where it is known, is the cause before.
const (
	keepsIt        = 1. / 3
	besideWhoKeeps = .9
)

// fragmented: the C library's heap keeps more and more free memory between blocks that
// are in use, and cannot give it back.
func fragmented(c *Case) *Cause {
	if c.Class != account.HostGrowth || !c.ByTrend || c.HeapKeeps < leastFree*c.Size {
		return nil
	}
	share := min(1, c.HeapKeeps/c.Size)
	found := []string{fmt.Sprintf("the free bytes in the C heap rise by %s", units.Bytes(c.HeapKeeps))}
	if c.Heap.Known {
		found = append(found, fmt.Sprintf("what the program has in use changes by %s", units.Bytes(c.Heap.Amount())))
	}
	sure := .5 + .4*share
	if c.Heap.Known && c.Heap.Amount() >= keepsIt*c.Size {
		sure *= besideWhoKeeps
	}
	return &Cause{ID: Fragmented, Confidence: sure * c.Confidence, Share: &share, Evidence: found,
		Next: "try what malloc_trim(0) gives back; fewer arenas (MALLOC_ARENA_MAX=2) or another allocator " +
			"(jemalloc by LD_PRELOAD) keep less free",
		Change: []string{"- python train.py", "+ MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=65536 python train.py"}}
}
