package apple

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Accelerator is one GPU as the IORegistry has it. Strings not known are empty,
// bytes Unknown. The keys are undocumented and differ between makers.
type Accelerator struct {
	ID    uint64 // of the registry entry, until the machine starts again
	Class string // AGXAcceleratorG15X, IntelAccelerator, …
	Model string // "Apple M3 Max"
	// InUse is host memory that the GPU uses now, for everybody; Allocated what
	// is allocated for it; Driver the part of InUse that the driver uses for
	// itself.
	InUse, Allocated, Driver int64
	// VRAMFree and VRAMUsed are of GPUs with memory of their own.
	VRAMFree, VRAMUsed int64
	// Recoveries counts how often the GPU hung and was started again.
	Recoveries int64
	Clients    []Client
}

// Client is one connection of a process to a GPU: a program has one for each
// device object or queue.
type Client struct {
	PID  int
	Name string // of the process that made it, cut to 16 bytes by the system
	// GPUTime is the time that the GPU worked for it, Unknown (-1) when that is
	// not told.
	GPUTime time.Duration
}

// The keys of a registry entry that are asked for.
const (
	keyStatistics = "PerformanceStatistics"
	keyModel      = "model"
	keyCreator    = "IOUserClientCreator"
	keyUsage      = "AppUsage"
)

// unknownAccelerator is one of which nothing is known.
func unknownAccelerator() Accelerator {
	return Accelerator{InUse: Unknown, Allocated: Unknown, Driver: Unknown, VRAMFree: Unknown,
		VRAMUsed: Unknown, Recoveries: Unknown}
}

// fill takes over what the statistics say.
func (a *Accelerator) fill(statistics any) {
	s, _ := statistics.(map[string]any) // nil has no keys
	a.InUse = count(s["In use system memory"])
	a.Allocated = count(s["Alloc system memory"])
	a.Driver = count(s["In use system memory (driver)"])
	a.VRAMFree = count(s["vramFreeBytes"])
	a.VRAMUsed = count(s["vramUsedBytes"])
	a.Recoveries = count(s["recoveryCount"])
}

// count is a number that cannot be negative, else Unknown.
func count(v any) int64 {
	if n, ok := v.(int64); ok && n >= 0 {
		return n
	}
	return Unknown
}

// parseClient takes a user client's creator ("pid 421, WindowServer") and usage
// apart; false for one without a pid.
func parseClient(creator, usage any) (Client, bool) {
	text, _ := creator.(string)
	digits, ok := strings.CutPrefix(text, "pid ")
	if !ok {
		return Client{}, false
	}
	digits, name, _ := strings.Cut(digits, ",")
	pid, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 32)
	if err != nil || pid <= 0 {
		return Client{}, false
	}
	return Client{PID: int(pid), Name: strings.TrimSpace(name), GPUTime: gpuTime(usage)}, true
}

// gpuTime adds up the uses of a client, one for each of its interfaces.
func gpuTime(usage any) time.Duration {
	list, _ := usage.([]any)
	total := time.Duration(Unknown)
	for _, one := range list {
		d, _ := one.(map[string]any)
		n := count(d["accumulatedGPUTime"])
		if n == Unknown {
			continue
		}
		total = max(total, 0)
		total += min(time.Duration(n), math.MaxInt64-total) // a counter gone mad stays a time
	}
	return total
}
