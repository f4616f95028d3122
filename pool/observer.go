package pool

import "github.com/gpumem/gpumem/metal"

// Observer is told what the pool did, after it did it.
//
// Observe is called on the goroutine that caused the event, with no lock of
// the pool held: it may call Stats, Classes and Survivors, but no other
// method of the pool, and no method of a Batch. It must be safe for
// concurrent use when the pool is used concurrently. An observed pool reads
// the device's usage around each step and is slower for it.
type Observer interface {
	Observe(Event)
}

// EventKind says what happened.
type EventKind uint8

// The kinds of events.
const (
	// EventGet: a handle was handed out; Hit says whether from an idle buffer.
	EventGet EventKind = 1 + iota
	// EventRelease: a reference was given up, with its outcome.
	EventRelease
	// EventSettle: a pending buffer got its final outcome.
	EventSettle
	// EventEvict: an idle buffer was dropped by the policy.
	EventEvict
	// EventPurge: Purge, Trim or a sweep ran; see Receipt.
	EventPurge
	// EventHazard: a buffer was handed out while commands still use it. It
	// follows the EventGet of the same handle.
	EventHazard
)

// Event is one step of the pool. Before and After are what the device counted
// right before and after the step; concurrent work of others is in them.
type Event struct {
	Kind    EventKind
	Outcome Outcome // EventRelease, EventSettle
	Hit     bool    // EventGet
	Anew    bool    // EventGet: the policy let no idle buffer serve it
	Label   string
	Class   Class
	// RequestedBytes is what the program asked for; the buffer has
	// Class.Bytes.
	RequestedBytes uint64
	// ElementSize is the bytes of one of its elements, 0 when that is not told.
	ElementSize uint64
	// Refs is the reference count before the step; after a Get it is 1.
	Refs   int
	Pooled bool // false when the request was Unpooled
	Before metal.Usage
	After  metal.Usage
	// Receipt is set with EventPurge.
	Receipt Receipt
	// Hazard is set with EventHazard.
	Hazard Hazard
}

// Hazard is a reuse before completion: a buffer was handed out again although
// commands that are encoded or in flight still use it, so that its new owner
// can overwrite what they read.
type Hazard struct {
	Label         string // what it was handed out as
	PreviousLabel string // what the commands know it as
	Bytes         uint64
	Uses          int    // command buffers that still use it
	Site          string // where it was handed out; empty when not recorded
}
