package pool

// Outcome is what really became of a reference that was given up, or of a
// buffer whose last reference was given up.
type Outcome uint8

// The outcomes. Shared and Pending are not final: a shared buffer has other
// references, and a pending one gets one of the final outcomes when the last
// command that uses it has completed.
const (
	// NoOutcome is the zero value: nothing happened (an error did).
	NoOutcome Outcome = iota
	// Returned: the pool keeps the buffer idle.
	Returned
	// CapFull: dropped, because the class has its idle buffers or the limit
	// of idle bytes is below the buffer's size.
	CapFull
	// Busy: dropped, because the pool's lock was held (Policy.DropWhenBusy).
	Busy
	// Shared: other references remain; the buffer stays live.
	Shared
	// NotPooled: dropped, because the request, the policy or the closed pool
	// keeps nothing.
	NotPooled
	// Pending: a command that has not completed still uses the buffer.
	Pending

	outcomes = int(Pending) + 1
)

var outcomeNames = [outcomes]string{"none", "returned", "cap full", "busy", "shared", "not pooled", "pending"}

// String is the outcome in words.
func (o Outcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return "unknown"
}

// Final reports that the outcome decided over the buffer.
func (o Outcome) Final() bool {
	return o == Returned || o == CapFull || o == Busy || o == NotPooled
}
