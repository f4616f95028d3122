// Package pool is the instrumented buffer pool: reference-counted handles
// over size classes, under a policy that says what is kept idle.
//
// It promises that every buffer it got from the device is in exactly one
// state (live: handed out and referenced; pending: given up, but a committed
// command still uses it; idle: kept for reuse), that the counters of those
// states add up to what the device charges, and that it never reports an
// outcome that did not happen. Policies are plain data; the ones taken over
// from the investigations keep their original faults, on purpose.
//
// Batch groups commands into command buffers over a pool. The package knows
// package metal and nothing of recording.
package pool
