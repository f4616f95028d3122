package firsttouch

import (
	"errors"
	"fmt"
	"time"
)

// Options of a Recorder. The zero value thins the samples by itself.
type Options struct {
	// Period is how many faults make one sample, all the time. 0 lets the
	// period of each thread, and the time that it is watched at all, follow its
	// rate of faults so that MaxShare holds.
	Period uint64
	// MaxShare is the share of a thread's time that watching it may cost;
	// 0 means DefaultMaxShare. It does nothing when Period is set.
	MaxShare float64
	// RingPages is the size of each thread's ring in pages, a power of two;
	// 0 means DefaultRingPages. Other numbers are rounded up.
	RingPages int
	// Interval is how often rings are emptied and new threads looked for;
	// 0 means DefaultInterval. A thread's faults before that are not sampled.
	Interval time.Duration
	// Skip names further libraries (as in Owner.Library) that touch pages on
	// behalf of their callers only, such as a program's own allocator.
	Skip []string
}

// Defaults of the options.
const (
	DefaultMaxShare  = 0.005
	DefaultRingPages = 16
	DefaultInterval  = 50 * time.Millisecond
)

// Unknown is the value of a quantity that could not be had.
const Unknown int64 = -1

// Names of owners that are no library.
const (
	OwnerJIT     = "(generated code)" // executable memory without a file
	OwnerUnknown = "(unknown)"        // no frame lies in any mapping
)

// Method is how an owner was found, from certain to guessed.
type Method uint8

// The methods.
const (
	ByLeaf   Method = iota // the code that touched the page is the owner's
	ByCaller               // it was called by the owner directly
	ByChain                // the owner is further up a chain of frame pointers
	ByScan                 // guess: nearest return address on the stack
	ByNobody               // nobody else was found; the run-time library it is
	methods
)

// String is the method in one word.
func (m Method) String() string {
	names := [methods]string{"leaf", "caller", "chain", "scan", "nobody"}
	if m < methods {
		return names[m]
	}
	return "unknown"
}

// Leaf is a library whose code touched an owner's pages.
type Leaf struct {
	Library string
	Share   float64 // of the owner's faults
}

// Owner is a library with the faults charged to it.
type Owner struct {
	Library string // without folder and version: libcuda, python3.12
	Path    string // empty where there is no file
	Samples uint64
	Share   float64 // of all sampled faults
	Faults  uint64  // estimate: its share of Report.Faults
	// Bytes is the estimate of what it touched, one page a fault. It is a lower
	// bound where huge pages are used, and counts a page that was freed and
	// touched again twice.
	Bytes int64
	// FileShare is the part of its faults that fell on mappings of files: pages
	// of the page cache, not of a heap.
	FileShare float64
	Leaves    []Leaf // by share, greatest first
	ByMethod  [methods]uint64
}

// Judgement is whether faults mean growth.
type Judgement string

// The judgements.
const (
	Growth    Judgement = "growth"    // most touched bytes stayed
	Churn     Judgement = "churn"     // most touched bytes were given back
	Mixed     Judgement = "mixed"     // neither
	Undecided Judgement = "undecided" // too little was seen
)

// Comparison sets what was touched against what the process grew by.
type Comparison struct {
	TouchedBytes int64 // all faults, one page each
	GrowthBytes  int64 // of resident memory; negative when it shrank, see Known
	Known        bool  // GrowthBytes could be read
	Kept         float64
	Judgement    Judgement
}

// Report is what a recording saw.
type Report struct {
	PID      int
	Duration time.Duration
	// Watched is the share of the time that events were on: less than 1 where
	// the target faulted so fast that watching all of it would have cost more
	// than its share.
	Watched float64
	// Faults is the kernel's own count over all threads, whether sampled or not.
	Faults  uint64
	Samples uint64
	// Lost is the number of samples that found their ring full.
	Lost   uint64
	Owners []Owner // by share, greatest first
	// Places are those with most, greatest first, as far as their code lies in a file.
	Places []Place
	// Threads is how many threads were followed, NewThreads how many of them
	// appeared after the start, Unfollowed how many could not be.
	Threads, NewThreads, Unfollowed int
	// UserOnly is true where permission was lacking to see faults that the
	// kernel takes for the program (reading a file into new memory).
	UserOnly bool
	Ended    bool // the process ended before Stop
	Churn    Comparison
	Warnings []string
}

// Errors match fs.ErrPermission where permission is missing, fs.ErrNotExist
// where there is no such process, and ErrUnsupported where the system has no
// such events. Each is one line that says what to do.
var (
	// ErrUnsupported also matches the standard library's errors.ErrUnsupported.
	ErrUnsupported = fmt.Errorf("first touch: %w", errors.ErrUnsupported)
	errThread      = errors.New("is a thread, not a process")
)

// Start begins to record a process, threads that it starts later included;
// its children need recorders of their own. The recorder works on a goroutine
// of its own until Stop, which must be called.
func Start(pid int, o Options) (*Recorder, error) { return start(pid, o.withDefaults()) }

func (o Options) withDefaults() Options {
	if o.MaxShare <= 0 {
		o.MaxShare = DefaultMaxShare
	}
	if o.RingPages <= 0 {
		o.RingPages = DefaultRingPages
	}
	pages := 1
	for pages < o.RingPages && pages < 1<<12 {
		pages <<= 1
	}
	o.RingPages = pages
	if o.Interval <= 0 {
		o.Interval = DefaultInterval
	}
	return o
}
