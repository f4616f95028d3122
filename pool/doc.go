// Package pool is the instrumented buffer pool: reference-counted handles
// over size classes, under a policy that says what is kept idle.
//
// It promises that every buffer it got from the device is in exactly one
// state (live: handed out and referenced; pending: given up, but a committed
// command still uses it; idle: kept for reuse), that the counters of those
// states add up to what the device charges, and that it never reports an
// outcome that did not happen. Policies are plain data; the ones taken over
// from the investigations keep their original faults, on purpose, except
// those that would hand out buffers that are too short (see Policies).
//
// Batch groups commands into command buffers over a pool. The package knows
// package metal and nothing of recording.
//
// # Completion
//
// A pool learns from its batches when the device is done with a buffer: each
// command buffer that uses one holds a use of it until it has completed,
// which a batch sees by looking at the status of its command buffers in
// commit order, at each of its own methods and when a Get finds nothing idle.
// There are no callbacks and no goroutines.
//
// # Locks
//
// A hit takes the lock of one shard, twice: four locked instructions, most of
// its time, and the reason that references are counted under the lock. The pool
// starts with one shard, so that the same program always gets the same buffers
// and exact high-water marks; when goroutines contend it spreads over more, up
// to four a core. A policy that needs one view of all idle buffers (a cap a
// class, best fit, a busy lock, parameter pools) keeps one shard, as its
// original keeps one lock. A buffer returns to the shard that handed it out.
package pool
