package agent

import (
	"encoding/json"

	"github.com/gpumem/gpumem/tracer/record"
)

// Version is the protocol's version, sent in hello. A tracer accepts every
// version up to its own and, because unknown keys are ignored, reads a newer
// one as far as it knows it.
const Version = 1

// Environment names by which a tracer reaches the agents of the program it
// starts.
const (
	EnvSocket   = "GPUMEM_AGENT"       // path of the Unix stream socket
	EnvInterval = "GPUMEM_INTERVAL_MS" // milliseconds between samples, decimal; default 50
	EnvHold     = "GPUMEM_HOLD"        // 1: stay at phase exiting until told to continue
	// milliseconds to wait before phase baseline or released, decimal; default 0
	EnvSettle = "GPUMEM_SETTLE_MS"
)

// PhaseExiting is the phase an agent marks when its program is about to end.
const PhaseExiting = record.PhaseExiting

// Actions that a tracer may ask for; package record says what they are.
const (
	ActionCollect = record.ActionCollect
	ActionPurge   = record.ActionPurge
	ActionTrim    = record.ActionTrim
	ActionSync    = record.ActionSync
	ActionSites   = record.ActionSites
	ActionHolders = record.ActionHolders
	// ActionComposition is answered after a mark of record.KindComposition.
	ActionComposition = record.ActionComposition

	ActionContinue = "continue" // end of the hold at exit; answered by nothing
	// ActionLook is offered by the same agents as ActionLeave: it tells all that is held
	// now, in the form of Held.
	ActionLook = "look"
	// ActionLeave is offered by an agent that came into a program which ran before: it
	// takes itself out, and answers what stays.
	ActionLeave = "leave"
)

// Hello introduces a program. It may be sent again with more actions.
type Hello struct {
	V       int      `json:"v"`
	PID     int      `json:"pid"`
	Agent   string   `json:"agent"` // go, torch, …
	Device  string   `json:"device,omitempty"`
	Driver  string   `json:"driver,omitempty"`
	Actions []string `json:"actions,omitempty"` // what it can do when asked
	Name    string   `json:"name,omitempty"`    // what the program calls this one of its processes
	Rank    *int     `json:"rank,omitempty"`    // its number in the job; nil is unknown
	// UnifiedMemory says whether GPU bytes are host memory; nil is unknown.
	UnifiedMemory *bool             `json:"unified_memory,omitempty"`
	CapacityBytes int64             `json:"capacity_bytes,omitempty"` // of the device; 0 is unknown
	Versions      map[string]string `json:"versions,omitempty"`
	// Knocks promises that the program connects once more, and closes at once,
	// after a line that cannot wait: a phase, a Done. Its other lines may then be
	// read some time after they were sent.
	Knocks bool `json:"knocks,omitempty"`
	// Refused says why an agent that was brought into the program does not work there.
	// Nothing else comes from it.
	Refused string `json:"refused,omitempty"`
}

// Mark says that the program reached a point worth a line in events.jsonl.
type Mark struct {
	TNs    int64           `json:"t_ns"`
	Kind   string          `json:"kind"`
	Name   string          `json:"name,omitempty"`
	At     string          `json:"at,omitempty"` // file:line:col
	Step   int64           `json:"step,omitempty"`
	Detail json.RawMessage `json:"detail,omitempty"`
}

// Do asks a program for an action.
type Do struct {
	ID     int64  `json:"id"`
	Action string `json:"action"`
}

// Done answers a Do. Claimed bytes and Count are what the program believes it
// freed; nil is unknown. CollectorOff is whether it had turned its garbage
// collector off. Detail holds {"sites":[…]} or {"holders":[…]} in the forms of
// record.Site and record.Holder.
type Done struct {
	ID           int64           `json:"id"`
	ClaimedBytes *int64          `json:"claimed_bytes,omitempty"`
	Count        *int64          `json:"count,omitempty"`
	CollectorOff bool            `json:"collector_off,omitempty"`
	Error        string          `json:"error,omitempty"`
	Detail       json.RawMessage `json:"detail,omitempty"`
}

// Held is the detail of the answer to ActionLook. What is not known is empty.
type Held struct {
	Holders     []record.Holder     `json:"holders,omitempty"`
	Sites       []record.Site       `json:"sites,omitempty"`
	Composition *record.Composition `json:"composition,omitempty"`
}
