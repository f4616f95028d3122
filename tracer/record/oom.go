package record

import (
	"encoding/json"
	"strings"
)

// OOM is an allocation that failed for want of memory, as the program's allocator
// told it before the exception: the detail of an event of KindOOM. Bytes; a nil
// pointer is unknown.
type OOM struct {
	Framework string `json:"framework"`
	Device    int    `json:"device"`
	Count     int64  `json:"count"` // which error of the process this is, from 1
	Asked     int64  `json:"asked_bytes"`
	// Limit is what the allocator may take: the device's capacity, or the part
	// of it that the program set. Free is what the device has left for everybody.
	Limit     *int64 `json:"limit_bytes,omitempty"`
	Capacity  *int64 `json:"capacity_bytes,omitempty"`
	Free      *int64 `json:"free_bytes,omitempty"`
	Allocated *int64 `json:"allocated_bytes,omitempty"` // live
	Reserved  *int64 `json:"reserved_bytes,omitempty"`  // live and idle
	Peak      *int64 `json:"peak_bytes,omitempty"`      // of allocated, so far
	// Categories sum to the allocator's live bytes. Incomplete is set when the
	// search ended early: what has no name then may be anything.
	Categories map[string]int64 `json:"categories,omitempty"`
	Incomplete bool             `json:"incomplete,omitempty"`
	// Modules are the parts of the categories that modules of a model own, Module the
	// one whose forward pass asked; empty where none did.
	Modules []OwnedBytes `json:"modules,omitempty"`
	Module  string       `json:"module,omitempty"`
	// Graph is what autograd's graph keeps for backward passes; nil where nobody told, and
	// where there is none.
	Graph *Graph `json:"graph,omitempty"`
	Pools []Pool `json:"pools,omitempty"`
	// Beside are other frameworks of the same process with memory on the device.
	Beside   []Beside `json:"beside,omitempty"`
	Model    Model    `json:"model"`
	Grad     *bool    `json:"grad_enabled,omitempty"`
	Settings string   `json:"settings,omitempty"` // of the allocator, by the environment
	Site     string   `json:"site,omitempty"`
	Stack    []string `json:"stack,omitempty"` // from the inside out
	// OtherThread is set when Stack is not of the failing thread, which has no
	// frame of Python's, but of the main thread.
	OtherThread bool     `json:"other_thread,omitempty"`
	Holders     []Holder `json:"holders,omitempty"`
	CostMicros  int64    `json:"cost_us,omitempty"` // what telling it took
}

// Pool is the memory of one kind that an allocator keeps together.
type Pool struct {
	Kind       string `json:"kind"` // large, small
	Stream     int64  `json:"stream"`
	Private    bool   `json:"private,omitempty"` // of a CUDA graph
	Expandable bool   `json:"expandable,omitempty"`
	Segments   int64  `json:"segments"`
	Live       int64  `json:"live_bytes"`
	Idle       int64  `json:"idle_bytes"`
	IdleCount  int64  `json:"idle_count"`
	Largest    int64  `json:"largest_bytes"` // idle block
	// Whole are the idle bytes in segments without a live block.
	Whole int64 `json:"whole_bytes,omitempty"`
	// PageBytes are the idle bytes that expandable segments could have given
	// back, were the blocks to lie as they do now, one after the other.
	PageBytes int64 `json:"page_bytes"`
}

// Model is what the program trains or runs.
type Model struct {
	Optimizers *int64           `json:"optimizers,omitempty"`
	Training   bool             `json:"training,omitempty"` // a module with parameters of its own is
	Dtypes     map[string]int64 `json:"parameter_dtypes,omitempty"`
	Optimizer  *Optimizer       `json:"optimizer,omitempty"`
}

// Beside is what the pool of another framework has of a device; nil is unknown.
type Beside struct {
	Name string `json:"name"`
	Live *int64 `json:"live_bytes,omitempty"`
	Idle *int64 `json:"idle_bytes,omitempty"`
}

// Graph is the forward passes that autograd's graph keeps for their backward passes.
type Graph struct {
	Passes int64 `json:"passes"` // at least so many: each with a tenth of what the largest has
	Joined int64 `json:"joined"` // of these, behind one output, as a sum of losses has them
	// Uses is how often the parameter that tells passes apart is used, by all of them: a
	// recurrent module's is used at each of its steps.
	Uses int64 `json:"uses,omitempty"`
	// Bytes are those of activations that are known to be of a pass, Earlier those of all
	// passes but the largest. What only C++ has is in neither.
	Bytes   int64 `json:"bytes"`
	Earlier int64 `json:"earlier_bytes"`
	Outputs int64 `json:"output_bytes"` // of activations that no operation takes
	// Training says whether one of the modules in it is in training mode; nil for unknown.
	Training *bool `json:"training,omitempty"`
	// Inputs is set where it leads to a tensor that waits for a gradient and that no module
	// owns.
	Inputs bool    `json:"inputs,omitempty"`
	Holder *Holder `json:"holder,omitempty"` // of several passes' outputs
}

// Optimizer is the optimizers' parameters, of which WithState have their state by
// now, of State bytes.
type Optimizer struct {
	Name       string `json:"name"`
	Parameters int64  `json:"parameter_bytes"`
	WithState  int64  `json:"with_state_bytes"`
	State      int64  `json:"state_bytes"`
}

// Others are the processes on the devices: the detail of an event of
// KindOOMOthers.
type Others struct {
	Processes []HeldBy `json:"processes"`
}

// HeldBy is what a device holds for a process.
type HeldBy struct {
	PID    int    `json:"pid"`
	Name   string `json:"name,omitempty"`
	Device int    `json:"device"`
	Bytes  int64  `json:"bytes"`
	Own    bool   `json:"own,omitempty"` // of the run itself
}

// Refusal is an allocation that a driver refused: the detail of an event that is named
// EventRefused. Bytes; a nil pointer is unknown.
type Refusal struct {
	Asked  *int64 `json:"asked_bytes"`
	Live   *int64 `json:"live_bytes"`           // that the program held of the devices
	Free   *int64 `json:"free_bytes,omitempty"` // that the device had left
	Kind   string `json:"kind,omitempty"`       // device memory, pinned memory, …
	Device *int   `json:"device,omitempty"`
	Code   int    `json:"code"` // the driver's; 2 is out of memory
	Own    bool   `json:"own"`  // the program itself asked, and no allocator that tries again
}

// AddressSpace is what a process may have of it (ulimit -v), and the most that it was seen
// to have: the detail of an event that is named EventAddressSpace. Bytes.
type AddressSpace struct {
	Limit int64 `json:"limit_bytes"`
	Peak  int64 `json:"peak_bytes"`
}

// Killed is a process that the kernel killed, with the memory that it was seen to hold
// last: the detail of an event that is named EventKilled.
type Killed struct {
	Name string `json:"name,omitempty"`
	Held int64  `json:"held_bytes,omitempty"`
}

// OfMemory reports whether an exception of a class ended a program for want of memory, by the words of frameworks,
// drivers and systems.
func (d *Died) OfMemory(class string) bool {
	lower := strings.ToLower(d.Text)
	for _, word := range [...]string{"out of memory", "resource_exhausted", "unable to allocate",
		"failed to allocate", "insufficient memory", "can't allocate memory", "cannot allocate memory"} {
		if strings.Contains(lower, word) {
			return true
		}
	}
	return strings.HasSuffix(class, "OutOfMemoryError") || strings.HasSuffix(class, "MemoryError")
}

// Died is the message of the exception that ended a program: the detail of an event
// of KindDied.
type Died struct {
	Text string `json:"text"`
	// Mappings of memory that the process had, and that the system allows; 0 is unknown.
	Mappings      int64 `json:"mappings,omitempty"`
	MappingsLimit int64 `json:"mappings_limit,omitempty"`
	// Addresses is the most address space that it had, in bytes, and AddressesLimit what it
	// may have (ulimit -v); 0 is unknown, or without a limit.
	Addresses      int64 `json:"addresses,omitempty"`
	AddressesLimit int64 `json:"addresses_limit,omitempty"`
	// Limit and Live are what the framework that raised it may have of the device, and had
	// then; 0 is unknown. Bytes.
	Limit int64 `json:"limit_bytes,omitempty"`
	Live  int64 `json:"live_bytes,omitempty"`
}

// DetailOf reads the detail of an event into one of the types here. It reports
// false where there is none that fits.
func DetailOf[T any](e *Event) (detail T, ok bool) {
	if len(e.Detail) == 0 {
		return detail, false
	}
	return detail, json.Unmarshal(e.Detail, &detail) == nil
}
