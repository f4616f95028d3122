package record

import (
	"encoding/json"
	"math"
	"time"
)

// Unknown is the value of a cell that is empty in the file. Cells are float64
// because every integer up to 2^53 (8 PiB) is exact in it and NaN can say
// "unknown"; test with IsUnknown.
var unknown = math.NaN()

// Unknown returns the value that stands for an empty cell.
func Unknown() float64 { return unknown }

// IsUnknown reports whether v stands for an empty cell.
func IsUnknown(v float64) bool { return v != v }

// Cell is one named value of a row to be written. A column that is not among
// a row's cells is written empty.
type Cell struct {
	Column string
	Value  int64
}

// Row is one sample on its way to the file. T is the time since the run's
// start. The caller keeps ownership of Cells.
type Row struct {
	T     time.Duration
	Cells []Cell
}

// Samples are the rows of a run by column, in file order. All columns have
// the same length. Values are NaN where the cell was empty or bad.
type Samples struct {
	names  []string
	values [][]float64
}

// Len is the number of rows.
func (s *Samples) Len() int {
	if s == nil || len(s.values) == 0 {
		return 0
	}
	return len(s.values[0])
}

// Names are the columns in file order. The caller must not change the slice.
func (s *Samples) Names() []string { return s.names }

// Column is the values of a column, or nil when the run has none of that
// name. The caller must not change the slice.
func (s *Samples) Column(name string) []float64 {
	for i, n := range s.names {
		if n == name {
			return s.values[i]
		}
	}
	return nil
}

// NewSamples makes Samples from columns of equal length; it takes ownership
// of both slices. It panics when lengths differ, which is a programmer's error.
func NewSamples(names []string, values [][]float64) *Samples {
	for _, v := range values {
		if len(names) != len(values) || len(v) != len(values[0]) {
			panic("record: columns of different length")
		}
	}
	return &Samples{names: names, values: values}
}

// Event kinds of events.jsonl. Readers ignore kinds they do not know.
const (
	KindStep      = "step"
	KindPhase     = "phase" // Name: baseline, released, and the program's own
	KindScope     = "scope"
	KindStatement = "statement"
	KindEvent     = "event"
	// EventRefused is the name of an event: the driver refused an allocation. Its detail
	// is a Refusal, its sites are what the program held of the devices then.
	EventRefused = "allocation refused"
	// EventKilled is the name of an event: the kernel killed the process because host
	// memory ran out. Its detail is a Killed, or empty of the program itself.
	EventKilled = "killed for memory"
	// EventAddressSpace is the name of an event at the end of a process whose address space
	// is limited. Its detail is an AddressSpace.
	EventAddressSpace = "address space"
	KindReceipt       = "receipt" // an experiment's outcome, in Receipt
	KindSites         = "sites"   // survivors by allocation site, in Sites
	KindHolders       = "holders" // who holds them, in Holders
	KindWarning       = "warning"
	// WarningPast is the name of a warning: a library of the process calls the driver past
	// the capture, so that what it asked for is in no column.
	WarningPast = "calls past the capture"
	// KindDriverSites are survivors by the place that asked the driver for them,
	// in Sites: segments of pools and handles, not the program's own blocks. Those named
	// NameLook are of the largest sites, at a moment while the program ran.
	KindDriverSites = "driver_sites"
	NameLook        = "look"
	// KindHostSites are lines of Python by what they asked of Python's allocators and of
	// NumPy's in the first half of a window and had at its end, in Sites; Detail is a
	// SiteWindow.
	KindHostSites = "host_sites"
	// KindBlockSites are the same of the blocks that a framework's allocators handed out on a
	// device.
	KindBlockSites = "block_sites"
	// KindFirstTouch says whose code first touched new pages, in FirstTouch.
	KindFirstTouch = "first_touch"
	// KindProcess introduces one of several processes: its Name, and its Rank
	// where something tells. The last one of a process counts.
	KindProcess = "process"
	// KindChild says which line of the program started a process: At, and the process's
	// number as pid in Detail. PID is the parent.
	KindChild = "child"
	// KindLeft is a process of the program's that still ran when the program had ended:
	// its Name. What it held is in its last row.
	KindLeft = "left_behind"
	// KindOOM is an allocation that failed for want of memory, with OOM's keys in
	// Detail; of the same time may follow a KindOOMOthers.
	KindOOM = "oom"
	// KindOOMOthers is what other processes held on the devices at that moment.
	KindOOMOthers = "oom_others"
	// KindDied is the exception that ended the program: its type in Name, its
	// message in Detail's text.
	KindDied = "died"
	// KindWindow is a part of a window of profiled steps, Window in Detail.
	KindWindow = "window"
	// KindComposition is what live memory is made of at one moment, Composition in
	// Detail.
	KindComposition = "composition"
	// KindClones are the lines that added references to tensors, Clones in Detail.
	KindClones = "clones"
	// KindGenerations says of what age the blocks of the allocator are that live at a
	// moment, Generations in Detail.
	KindGenerations = "generations"
)

// Names of events about a buffer that was handed out while a command that had not
// completed still used it: the first of them, and, followed by a number, how many there
// were.
const (
	EventHazard  = "hazard: reuse before completion"
	EventHazards = "hazards: "
)

// Event is one line of events.jsonl.
type Event struct {
	TMs     float64  `json:"t_ms"`
	PID     int      `json:"pid,omitempty"`
	Kind    string   `json:"kind"`
	Name    string   `json:"name,omitempty"`
	At      string   `json:"at,omitempty"` // file:line:col
	Step    int64    `json:"step,omitempty"`
	Rank    *int     `json:"rank,omitempty"` // of the process in its job
	Text    string   `json:"text,omitempty"`
	Receipt *Receipt `json:"receipt,omitempty"`
	Sites   []Site   `json:"sites,omitempty"`
	Holders []Holder `json:"holders,omitempty"`

	FirstTouch *FirstTouch     `json:"first_touch,omitempty"`
	Detail     json.RawMessage `json:"detail,omitempty"`
}

// Receipt is what an experiment claimed to free and what the operating system
// really got back. A nil pointer is unknown.
type Receipt struct {
	Action        string  `json:"action"` // collect, purge, trim, sync
	ClaimedBytes  *int64  `json:"claimed_bytes,omitempty"`
	ReturnedBytes *int64  `json:"returned_bytes,omitempty"` // footprint before minus after
	GPUBytes      *int64  `json:"gpu_returned_bytes,omitempty"`
	Count         *int64  `json:"count,omitempty"` // buffers or objects freed
	Account       Account `json:"account,omitempty"`
	CollectorOff  bool    `json:"collector_off,omitempty"` // the program had turned its garbage collector off
}

// Returned is what the system got back, in bytes: the larger of host and device
// bytes that are known, 0 when neither is.
func (r *Receipt) Returned() float64 {
	back := int64(0)
	for _, p := range [...]*int64{r.ReturnedBytes, r.GPUBytes} {
		if p != nil {
			back = max(back, *p)
		}
	}
	return float64(back)
}

// Site is what one allocation site still holds.
type Site struct {
	Site        string `json:"site"` // file:line func
	Bytes       int64  `json:"bytes"`
	Count       int64  `json:"count"`
	GrowthBytes int64  `json:"growth_bytes,omitempty"` // since an earlier look; 0 without one
	ArrayBytes  int64  `json:"array_bytes,omitempty"`  // of Bytes: the data of NumPy's arrays, where that is told
	TensorBytes int64  `json:"tensor_bytes,omitempty"` // and of PyTorch's tensors on the host
	// Caller is the line of the program that called the site's function for most of Bytes, as a
	// Site; empty where nobody tells.
	Caller string `json:"caller,omitempty"`
}

// FirstTouch is whose code first touched the pages by which a process grew, over
// a part of the run. A nil pointer is unknown.
type FirstTouch struct {
	Seconds      float64      `json:"seconds"`
	TouchedBytes *int64       `json:"touched_bytes,omitempty"`
	GrowthBytes  *int64       `json:"growth_bytes,omitempty"` // of resident memory meanwhile
	Judgement    string       `json:"judgement"`              // growth, churn, mixed, undecided
	Lost         int64        `json:"lost,omitempty"`         // samples that could not be kept
	Owners       []TouchOwner `json:"owners"`                 // largest share first
	// Places are the functions or lines that touched most, or had a library of the system
	// do it, largest share first; empty where they were not looked for.
	Places []TouchPlace `json:"places,omitempty"`
}

// TouchPlace is a place, as Site.Site is one, and its share of the touched pages.
type TouchPlace struct {
	Site  string  `json:"site"`
	Share float64 `json:"share"` // 0 to 1
}

// TouchOwner is a library and its share of the touched pages.
type TouchOwner struct {
	Library string  `json:"library"`
	Share   float64 `json:"share"` // 0 to 1
}

// Meta is run.json. It is written at the start and again at the end.
type Meta struct {
	Schema        int               `json:"schema"` // 1
	Command       []string          `json:"command"`
	Workload      string            `json:"workload,omitempty"`
	Env           map[string]string `json:"env,omitempty"`
	Host          string            `json:"host,omitempty"`
	OS            string            `json:"os,omitempty"`
	Driver        string            `json:"driver,omitempty"`
	Device        string            `json:"device,omitempty"` // the effective device
	Machine       *Machine          `json:"machine,omitempty"`
	UnifiedMemory *bool             `json:"unified_memory,omitempty"`
	// CapacityBytes are the limits growth runs into, by name: LimitDevice,
	// LimitCgroup, LimitHost.
	CapacityBytes map[string]int64  `json:"capacity_bytes,omitempty"`
	Versions      map[string]string `json:"versions,omitempty"`
	Start         time.Time         `json:"start"`
	StartNanos    int64             `json:"start_monotonic_ns,omitempty"`
	IntervalMs    float64           `json:"interval_ms,omitempty"`
	// CalmIntervalMs is the time between the samples of a process of which nothing
	// moves, 0 where it is IntervalMs.
	CalmIntervalMs float64 `json:"calm_interval_ms,omitempty"`
	// KeepBytes bounds the files of the run: their past is thinned to stay within.
	// 0 where everything is kept.
	KeepBytes int64 `json:"keep_bytes,omitempty"`
	PID       int   `json:"pid,omitempty"`
	// PIDStart tells the process from others that had the same PID before or get it
	// later: when it started, on the system's own clock.
	PIDStart int64 `json:"pid_start,omitempty"`
	// Flags are those given to gpumem that another run needs to measure and judge
	// the same, without dashes; a workload's own stand in Command. Of a recording
	// that was imported they are the options that shaped the reading.
	Flags map[string]string `json:"flags,omitempty"`

	// Masked is what was taken for a secret, here and in events.jsonl; nil when
	// nothing was.
	Masked *Masked `json:"masked,omitempty"`

	// Known only at the end; absent after a kill.
	End      *time.Time `json:"end,omitempty"`
	ExitCode *int       `json:"exit_code,omitempty"`
	Signal   string     `json:"signal,omitempty"`
	Sampling *Sampling  `json:"sampling,omitempty"`
}

// Machine is what the run's machine is. Nothing in it names the machine or its
// user; what is not known is absent.
type Machine struct {
	Platform string `json:"platform,omitempty"` // "Debian GNU/Linux 12 (bookworm)"
	Kernel   string `json:"kernel,omitempty"`   // its release
	// Booted is when the machine started.
	Booted *time.Time `json:"booted,omitempty"`
	// Virtualization is the system that the machine is a guest of.
	Virtualization string `json:"virtualization,omitempty"`
	CPU            string `json:"cpu,omitempty"` // the processor's model
	Processors     int    `json:"processors,omitempty"`
	MemoryBytes    *int64 `json:"memory_bytes,omitempty"`
	SwapBytes      *int64 `json:"swap_bytes,omitempty"` // 0 where there is none
}

// Sampling says how well the recording itself went.
type Sampling struct {
	Rows        int64 `json:"rows"`
	Missed      int64 `json:"missed"`       // ticks that came too late to be taken
	SkippedRows int64 `json:"skipped_rows"` // samples and steps over 1,000 a second
	LostRows    int64 `json:"lost_rows"`    // could not be written
	LostEvents  int64 `json:"lost_events"`  // could not be written
	// ThinnedRows and ThinnedEvents were written and left out again later, so that the
	// files stay within Meta.KeepBytes.
	ThinnedRows    int64   `json:"thinned_rows,omitempty"`
	ThinnedEvents  int64   `json:"thinned_events,omitempty"`
	DroppedByAgent int64   `json:"agent_dropped"`
	CPUSeconds     float64 `json:"cpu_seconds"` // the tracer's own
	RSSBytes       int64   `json:"rss_bytes"`   // the tracer's own, at the end
}

// Run is a whole run folder, or a bare CSV, in memory.
type Run struct {
	Path     string
	Meta     Meta // zero for a bare CSV
	Samples  *Samples
	Events   []Event
	Warnings []Warning
}

// Warning is something wrong in a file that did not stop the reading.
type Warning struct {
	File   string
	Line   int    // 1-based, 0 when not about a line
	Column string // empty when not about a column
	Text   string
}
