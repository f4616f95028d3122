package pool

import "fmt"

// ClassRule says how a request becomes a size class.
type ClassRule string

// The class rules of the policies.
const (
	ClassExact    ClassRule = "exact"    // the requested bytes
	ClassPages    ClassRule = "pages"    // steps of at most 12.5 % above a page
	ClassElements ClassRule = "elements" // 1,024 x 2^k elements, k = 0..13, above that exact
	ClassPow2     ClassRule = "pow2"     // next power of two
	ClassTensors  ClassRule = "tensors"  // the requested elements of the requested size
)

// Policy is a plain spec of what a pool keeps. Policies compare with ==.
type Policy struct {
	Name    string
	Summary string // one line for `gpumem workloads`
	Class   ClassRule
	// MaxIdlePerClass is how many idle buffers one class keeps; -1 no limit,
	// 0 keeps nothing. A positive limit makes the pool use one lock.
	MaxIdlePerClass int
	// MaxIdleBytes limits idle bytes (pages) over all classes; 0 no limit. A
	// fraction of the working set when IdleFraction is set. The smaller of
	// both holds. The oldest idle buffers make room for a returned one.
	MaxIdleBytes uint64
	IdleFraction float64
	// TrimAfter drops a buffer that stayed idle through so many Gets; 0 never.
	TrimAfter uint64
	// TrimAtRest drops idle buffers down to RestBytes when the last live
	// buffer has been given up.
	TrimAtRest bool
	RestBytes  uint64
	// SweepAtWait drops idle buffers at Batch.Sync only.
	SweepAtWait bool
	// BestFit serves a request from the smallest class with an idle buffer
	// that is large enough, without upper bound, instead of from its own
	// class only. It makes the pool use one lock.
	BestFit bool
	// DataAnew serves a Request with Data by a new buffer of exactly its length,
	// never by an idle one. Given up, it may serve other requests.
	DataAnew bool
	// DropWhenBusy drops a released buffer when the pool's lock is held by
	// somebody else (outcome Busy) instead of waiting for it. It makes the
	// pool use one lock.
	DropWhenBusy bool
	// EarlyReturn makes a released buffer idle at once although committed
	// commands may still read it: a planted hazard.
	EarlyReturn bool
	// MaxParams is how many 4-byte parameter buffers of each kind are kept
	// idle; 0 passes parameters inline, without buffers. A positive value
	// makes the pool use one lock.
	MaxParams int
}

// WithCap returns the policy with another limit of idle buffers a class.
func (p Policy) WithCap(buffers int) Policy {
	p.MaxIdlePerClass = buffers
	return p
}

// Validate reports the first field that makes no sense.
func (p Policy) Validate() error {
	switch p.Class {
	case ClassExact, ClassPages, ClassElements, ClassPow2, ClassTensors:
	default:
		return fmt.Errorf("policy %q: class rule %q: %w", p.Name, p.Class, ErrPolicy)
	}
	switch {
	case p.MaxIdlePerClass < -1:
		return fmt.Errorf("policy %q: %d idle buffers a class: %w", p.Name, p.MaxIdlePerClass, ErrPolicy)
	case !(p.IdleFraction >= 0 && p.IdleFraction <= 1):
		return fmt.Errorf("policy %q: idle fraction %v outside 0..1: %w", p.Name, p.IdleFraction, ErrPolicy)
	case p.MaxParams < 0:
		return fmt.Errorf("policy %q: %d parameter buffers: %w", p.Name, p.MaxParams, ErrPolicy)
	}
	return nil
}

// oneLock reports that the policy's rules need one view of all idle buffers,
// so that the pool cannot spread them over shards.
func (p Policy) oneLock() bool {
	return p.MaxIdlePerClass > 0 || p.BestFit || p.DropWhenBusy || p.MaxParams > 0
}
