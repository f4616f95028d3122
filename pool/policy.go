package pool

// ClassRule says how a request becomes a size class.
type ClassRule string

// The class rules of the policies.
const (
	ClassExact    ClassRule = "exact"    // the requested bytes
	ClassPages    ClassRule = "pages"    // steps of at most 12.5 % above a page
	ClassElements ClassRule = "elements" // 1,024 x 2^k elements, k = 0..13, above that exact
	ClassPow2     ClassRule = "pow2"     // next power of two
)

// Policy is a plain spec of what a pool keeps. Policies compare with ==.
type Policy struct {
	Name    string
	Summary string // one line for `gpumem workloads`
	Class   ClassRule
	// MaxIdlePerClass is how many idle buffers one class keeps; -1 no limit,
	// 0 keeps nothing.
	MaxIdlePerClass int
	// MaxIdleBytes limits idle bytes over all classes; 0 no limit. A
	// fraction of the working set when IdleFraction is set.
	MaxIdleBytes uint64
	IdleFraction float64
	// TrimAfter drops a buffer that stayed idle through so many Gets; 0 never.
	TrimAfter uint64
	// SweepAtWait drops idle buffers at Batch.Sync only.
	SweepAtWait bool
	// EarlyReturn makes a released buffer idle at once although committed
	// commands may still read it: a planted hazard.
	EarlyReturn bool
	// MaxParams is how many 4-byte parameter buffers of each kind are kept
	// idle; 0 passes parameters inline, without buffers.
	MaxParams int
}
