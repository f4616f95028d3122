package metal

import (
	"fmt"
	"time"
)

// Faults are defects that a driver plants when its device is opened with them.
// The zero value plants none.
type Faults struct {
	// FailAllocation makes the allocation of that number fail, from 1.
	FailAllocation int
	// ShrinkAfter that many allocations the budget becomes ShrinkTo bytes.
	ShrinkAfter int
	ShrinkTo    uint64
	// NoAutorelease makes autorelease scopes free nothing. A driver without
	// temporaries has nothing to leave.
	NoAutorelease bool
	// CompletionLag delays the completion of each command buffer, one after the
	// other in a queue.
	CompletionLag time.Duration
}

// Check refuses negative fields with an error matching ErrInvalid.
func (f *Faults) Check() error {
	if f.FailAllocation < 0 || f.ShrinkAfter < 0 || f.CompletionLag < 0 {
		return fmt.Errorf("negative fault: %w", ErrInvalid)
	}
	return nil
}
