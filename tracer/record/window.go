package record

// Window is one part of a window of steps whose allocations a program recorded: the
// detail of an event of KindWindow. Part 0 is the head; the others continue the
// lists, in order. Times are microseconds since the first event of the window,
// addresses are in units of WindowUnit.
type Window struct {
	Part  int `json:"part"`
	Parts int `json:"parts"`

	Device     int      `json:"device"`
	FromStep   int64    `json:"from_step"`
	Steps      int64    `json:"steps"`
	Roles      []string `json:"roles"`      // of blocks, by number
	Boundaries []int64  `json:"boundaries"` // ends of steps
	// Allocated is the allocator's own count of live bytes at the end, AllocatorPeak
	// the most that it counted in the program's life; nil is unknown.
	Allocated     *int64 `json:"allocated_bytes,omitempty"`
	AllocatorPeak *int64 `json:"allocator_peak_bytes,omitempty"`
	// What the window cost: to turn the history on; to take it and turn it off; to
	// pack it, beside the program; its steps, and what as many took before.
	OnMicros  int64 `json:"on_us"`
	OffMicros int64 `json:"off_us"`
	// Of these, what the search for tensors among the interpreter's objects took, and
	// the allocator's own list of blocks and events; nil is unknown.
	ScanMicros     *int64 `json:"scan_us,omitempty"`
	SnapshotMicros *int64 `json:"snapshot_us,omitempty"`
	PackMicros     int64  `json:"pack_us"`
	StepsMicros    int64  `json:"steps_us"`
	UsualMicros    *int64 `json:"usual_us,omitempty"`
	Overflowed     bool   `json:"overflowed,omitempty"` // more events than were kept
	// AgeMicros is how long before it was told the window's first event was; nil is
	// unknown.
	AgeMicros *int64 `json:"age_us,omitempty"`

	// Segments are the allocator's: address, bytes, and 1 where each rest of a block
	// is split off, 0 where only one over a MiB is.
	Segments [][3]int64 `json:"segments,omitempty"`

	Frames []string  `json:"frames,omitempty"` // file:line function
	Stacks [][]int32 `json:"stacks,omitempty"` // frames from the inside out, by number
	// Live are the blocks at the end: address, bytes, role.
	Live [][3]int64 `json:"live,omitempty"`
	// Events are allocations (address, bytes as asked for, time, stack) and frees
	// (address, -bytes, time, the role that the block had before the window or -1).
	Events [][4]int64 `json:"events,omitempty"`

	// Modules are paths of a model's modules, such as transformer.h.3.mlp. Owners say
	// whose a block is that lives at a moment: address, module, and the moment: -1 the
	// window's beginning, N the end of its step N from 0, WindowStill its own end.
	Modules []string   `json:"modules,omitempty"`
	Owners  [][3]int64 `json:"owners,omitempty"`
	// Calls are the forward passes: time, the module that begins, -1 where the
	// innermost one ends and -2 for a module without a path; a number of the thread.
	// CallsOff is why there are none, in a word or two.
	Calls    [][3]int64 `json:"calls,omitempty"`
	CallsOff string     `json:"calls_off,omitempty"`
}

// WindowStill is the moment of an owner whose block lives on at the window's end.
const WindowStill = 1 << 30

// WindowUnit is the unit of addresses in a Window, in bytes: the allocator's blocks
// are multiples of it.
const WindowUnit = 512

// Composition is what live memory of a device is made of: the detail of an event of
// KindComposition. The categories sum to the allocator's live bytes.
type Composition struct {
	// Moment is when that was: empty for the program's end, or when it was asked;
	// MomentMost for when it held most, as far as it looked.
	Moment     string           `json:"moment,omitempty"`
	Device     int              `json:"device"`
	Categories map[string]int64 `json:"categories"`
	Pools      []Pool           `json:"pools,omitempty"`
	// Rounded is the part of the categories that nobody asked for: what size classes and
	// pages add to lengths; nil is unknown.
	Rounded    *int64 `json:"rounded_bytes,omitempty"`
	Incomplete bool   `json:"incomplete,omitempty"`
	// Modules are the parts of the categories that modules of a model own.
	Modules []OwnedBytes `json:"modules,omitempty"`
}

// MomentMost is a moment of a Composition.
const MomentMost = "most"

// OwnedBytes is memory of one category that a module owns, or one below it.
type OwnedBytes struct {
	Module   string `json:"module"` // such as transformer.h.3.mlp
	Category string `json:"category"`
	Bytes    int64  `json:"bytes"`
}
