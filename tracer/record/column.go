package record

import (
	"slices"
	"strconv"
	"strings"
)

// Names of the columns of samples.csv. Columns says what each of them is;
// per-device columns append "@N". A column without a name here is carried along
// unread.
const (
	ColTime = "t_ms"
	ColPID  = "pid"
	ColStep = "step"
	// ColThinned marks the rows of a thinned past: Extreme is one that stays for its least
	// or greatest value, another number is the level of the slots whose first rows stay.
	ColThinned = "thinned"

	ColRSS       = "rss_bytes"
	ColRSSAnon   = "rss_anon_bytes"
	ColRSSFile   = "rss_file_bytes"
	ColRSSShmem  = "rss_shmem_bytes"
	ColSwap      = "swap_bytes"
	ColFileDirty = "file_dirty_bytes"
	ColFileCache = "file_cache_bytes"
	ColFileCode  = "file_code_bytes"
	ColFootprint = "footprint_bytes"

	ColGPU = "gpu_bytes"

	ColHostHeap           = "host_heap_bytes"
	ColHostHeapFree       = "host_heap_free_bytes"
	ColImported           = "imported_count"
	ColThreads            = "thread_count"
	ColReserved           = "host_reserved_bytes"
	ColGCHeap             = "gc_heap_bytes"
	ColGCKept             = "gc_kept_bytes"
	ColGCCollections      = "gc_collections"
	ColGCFull             = "gc_full_collections"
	ColLive               = "pool_live_bytes"
	ColIdle               = "pool_idle_bytes"
	ColNominal            = "pool_nominal_bytes"
	ColLiveCount          = "live_count"
	ColIdleCount          = "idle_count"
	ColRefs               = "refs"
	ColScopeDepth         = "scope_depth"
	ColInFlight           = "inflight"
	ColCommandBuffersOpen = "command_buffers_open"
	ColBuffersLimit       = "buffers_limit"
	ColCommands           = "commands"
	ColCommandBuffers     = "command_buffers"
	ColAllocs             = "allocs"
	ColFrees              = "frees"
	ColPoolHits           = "pool_hits"
	ColPoolMisses         = "pool_misses"
	ColShapes             = "shapes"
	ColPipelines          = "pipelines"
	ColDropped            = "dropped"

	ColDriverAllocBytes   = "driver_alloc_bytes"
	ColDriverProgramBytes = "driver_program_bytes"
	ColDriverProgramCount = "driver_program_count"
	ColDriverPoolReserved = "driver_pool_reserved_bytes"
	ColDriverPoolIdle     = "driver_pool_idle_bytes"
	ColDriverPoolKeeps    = "driver_pool_threshold_bytes"
	ColDriverAllocCount   = "driver_alloc_count"
	ColDriverManagedBytes = "driver_managed_bytes"
	ColDriverAsyncBytes   = "driver_async_bytes"
	ColDriverVMMBytes     = "driver_vmm_bytes"
	ColDriverArrayBytes   = "driver_array_bytes"
	ColPinnedBytes        = "pinned_bytes"
	ColPinnedCount        = "pinned_count"
	ColRegisteredBytes    = "registered_bytes"
	ColEvents             = "events_count"
	ColStreams            = "streams_count"
	ColGraphs             = "graphs_count"
	ColModules            = "modules_count"
	ColContexts           = "contexts_count"
	ColPools              = "pools_count"
	ColDriverAllocs       = "driver_allocs"
	ColDriverFrees        = "driver_frees"
	ColDriverFailed       = "driver_failed_allocs"
	ColCaptureLost        = "capture_lost"

	ColExecutable     = "executable_bytes"
	ColAllocatedBytes = "allocated_bytes"
	ColPeakHostHeap   = "peak_host_heap_bytes"
	ColDRAM           = "dram_bytes"
	ColL1             = "l1_bytes"
	ColSystemMemory   = "system_memory_bytes"
	ColL1Small        = "l1_small_bytes"
	ColTrace          = "trace_bytes"
	ColOtherMemory    = "other_bytes"
	ColCircular       = "cb_bytes"
	ColKernels        = "kernel_bytes"
)

// NoThreshold is ColDriverPoolKeeps of a pool that gives nothing back of its own: no
// device has as much memory.
const NoThreshold = 1 << 50

// Extreme is the value of ColThinned in a row that is no even sample of the past.
const Extreme = 0

// Unit is what the numbers of a column count.
type Unit string

// The units.
const (
	Bytes        Unit = "bytes"
	Count        Unit = "count"
	Milliseconds Unit = "ms"
)

// Kind is how the numbers of a column move.
type Kind string

// The kinds.
const (
	Gauge   Kind = "gauge"   // an amount at the time of the row
	Total   Kind = "total"   // a running total: it only rises while the program lives
	Handles Kind = "handles" // how many objects of the driver are alive
)

// Teller is who tells a column.
type Teller string

// The tellers.
const (
	TellTracer   Teller = "tracer"   // gpumem itself
	TellProbe    Teller = "probe"    // the operating system, as package probe reads it
	TellDriver   Teller = "driver"   // the driver of the device
	TellAgent    Teller = "agent"    // the program
	TellCapture  Teller = "capture"  // the program's calls of the driver
	TellImporter Teller = "importer" // another tool's recording
)

// Column is what is known of a column by its name.
type Column struct {
	Name      string
	Unit      Unit
	Kind      Kind
	PerDevice bool // there may be Name@N for device N beside or instead of the sum
	Public    bool // the name stays in a redacted copy
	Teller    Teller
	Doc       string // one line
}

// What the rows of the table say of PerDevice and Public.
const (
	perDevice = true
	whole     = false // of the process
	public    = true
)

// columnTable is the table; its order is that of the documentation.
var columnTable = [...]Column{
	{ColTime, Milliseconds, Gauge, whole, public, TellTracer,
		"time since the start of the run, monotonic; fractions are allowed"},
	{ColPID, Count, Gauge, whole, public, TellTracer, "process of the row, when the run has more than one"},
	{ColStep, Count, Gauge, whole, public, TellTracer, "step that the program is at"},
	{ColThinned, Count, Gauge, whole, public, TellTracer,
		"empty: the row is as it was recorded; 0: of a thinned past, it stays for its least or greatest " +
			"value; N: of a thinned past, it stands for a stretch of about 2^N ms"},

	{ColRSS, Bytes, Gauge, whole, public, TellProbe, "resident memory of the process"},
	{ColRSSAnon, Bytes, Gauge, whole, public, TellProbe, "resident memory that no file backs"},
	{ColRSSFile, Bytes, Gauge, whole, public, TellProbe, "resident memory that files back"},
	{ColRSSShmem, Bytes, Gauge, whole, public, TellProbe, "resident shared memory"},
	{ColSwap, Bytes, Gauge, whole, public, TellProbe, "memory of the process in swap"},
	{ColFootprint, Bytes, Gauge, whole, public, TellProbe,
		"what the machine gets back when the process ends"},
	{ColFileDirty, Bytes, Gauge, whole, public, TellProbe,
		"of rss_file_bytes, what the process changed of mapped files and the system has not written yet, and " +
			"what a driver keeps for it behind a device's file; part of the footprint"},
	{ColFileCache, Bytes, Gauge, whole, public, TellProbe,
		"of rss_file_bytes, clean pages of mapped files: the system drops them when it needs memory, and " +
			"they are no part of the footprint"},
	{ColFileCode, Bytes, Gauge, whole, public, TellProbe,
		"address space of mapped files that have code: no more of rss_file_bytes is code"},
	{ColThreads, Count, Gauge, whole, public, TellProbe, "threads of the process"},
	{ColReserved, Bytes, Gauge, whole, public, TellProbe,
		"memory that the process may write, touched or not: private (Linux: VmData), shared, and files mapped " +
			"to be written; empty where its allocator or language reserves far ahead (jemalloc, the JVM)"},
	{ColGCHeap, Bytes, Gauge, whole, public, TellProbe,
		"of footprint_bytes, the heap that a Java virtual machine (HotSpot) collects, in use or not; " +
			"read once a second or less, the rows between are empty"},
	{ColGCKept, Bytes, Gauge, whole, public, TellProbe,
		"what the last collection left in that heap, and what was promoted past it; objects that died old are " +
			"in it until the old ones are collected"},
	{ColGCCollections, Count, Total, whole, public, TellProbe, "collections of that heap"},
	{ColGCFull, Count, Total, whole, public, TellProbe,
		"of these, collections of the old objects, or steps of such a one"},

	{ColGPU, Bytes, Gauge, perDevice, public, TellDriver, "what the driver charges the process"},

	{ColHostHeap, Bytes, Gauge, whole, public, TellAgent,
		"handed out by the allocators of the language and the C library; unknown while Python's are sampled"},
	{ColHostHeapFree, Bytes, Gauge, whole, public, TellAgent,
		"given back to the C library's heap, and kept there for later"},
	{ColImported, Count, Gauge, whole, public, TellAgent, "modules of Python that are imported"},
	{ColLive, Bytes, Gauge, perDevice, public, TellAgent,
		"handed out by the program's pool and still referenced"},
	{ColIdle, Bytes, Gauge, perDevice, public, TellAgent, "kept by the program's pool, referenced by nobody"},
	{ColNominal, Bytes, Gauge, whole, public, TellAgent,
		"live and idle memory of the program's pool as the lengths of its buffers, where the bytes are " +
			"whole pages"},
	{ColLiveCount, Count, Gauge, perDevice, public, TellAgent, "tensors or buffers that are referenced"},
	{ColIdleCount, Count, Gauge, perDevice, public, TellAgent, "buffers that the pool keeps"},
	{ColRefs, Count, Gauge, whole, public, TellAgent, "references to live handles, summed"},
	{ColScopeDepth, Count, Gauge, whole, public, TellAgent, "nested scopes"},
	{ColInFlight, Count, Gauge, whole, public, TellAgent, "command buffers committed and not completed"},
	{ColCommandBuffersOpen, Count, Gauge, whole, public, TellAgent,
		"command buffers made and not completed, committed or not"},
	{ColBuffersLimit, Count, Gauge, whole, public, TellAgent, "buffers that the device allows at once"},
	{ColCommands, Count, Total, whole, public, TellAgent, "commands encoded"},
	{ColCommandBuffers, Count, Total, whole, public, TellAgent, "command buffers made"},
	{ColAllocs, Count, Total, perDevice, public, TellAgent, "allocations"},
	{ColFrees, Count, Total, perDevice, public, TellAgent, "frees"},
	{ColPoolHits, Count, Total, perDevice, public, TellAgent,
		"requests that the pool served from idle memory"},
	{ColPoolMisses, Count, Total, perDevice, public, TellAgent,
		"requests that the pool passed on to the driver"},
	{ColShapes, Count, Total, whole, public, TellAgent, "shapes met for the first time"},
	{ColPipelines, Count, Total, whole, public, TellAgent, "kernels compiled"},
	{ColDropped, Count, Total, whole, public, TellAgent, "lines that the agent could not send"},

	{ColDriverAllocBytes, Bytes, Gauge, perDevice, public, TellCapture,
		"device memory that the program asked of the driver and has not given back"},
	{ColDriverAllocCount, Count, Gauge, whole, public, TellCapture, "allocations in driver_alloc_bytes"},
	{ColDriverProgramBytes, Bytes, Gauge, whole, public, TellCapture,
		"of driver_alloc_bytes, what the program's own code asked for, managed memory aside"},
	{ColDriverProgramCount, Count, Gauge, whole, public, TellCapture,
		"allocations in driver_program_bytes, and of managed memory"},
	{ColDriverPoolReserved, Bytes, Gauge, whole, public, TellCapture,
		"what the driver's pools of stream-ordered memory hold of the device"},
	{ColDriverPoolIdle, Bytes, Gauge, whole, public, TellCapture,
		"of driver_pool_reserved_bytes, what nobody uses"},
	{ColDriverPoolKeeps, Bytes, Gauge, whole, public, TellCapture,
		"the release threshold of the driver's pools: what they keep when the program synchronizes"},
	{ColDriverManagedBytes, Bytes, Gauge, whole, public, TellCapture, "managed memory in driver_alloc_bytes"},
	{ColDriverAsyncBytes, Bytes, Gauge, whole, public, TellCapture,
		"stream-ordered memory in driver_alloc_bytes, as used out of pools"},
	{ColDriverVMMBytes, Bytes, Gauge, whole, public, TellCapture,
		"physical memory in driver_alloc_bytes, until released and unmapped"},
	{ColDriverArrayBytes, Bytes, Gauge, whole, public, TellCapture, "arrays in driver_alloc_bytes"},
	{ColPinnedBytes, Bytes, Gauge, whole, public, TellCapture,
		"page-locked host memory that the driver allocated"},
	{ColPinnedCount, Count, Gauge, whole, public, TellCapture, "allocations in pinned_bytes"},
	{ColRegisteredBytes, Bytes, Gauge, whole, public, TellCapture,
		"host memory of the program's own that was page-locked"},
	{ColEvents, Count, Handles, whole, public, TellCapture, "events"},
	{ColStreams, Count, Handles, whole, public, TellCapture, "streams"},
	{ColGraphs, Count, Handles, whole, public, TellCapture, "instantiated graphs"},
	{ColModules, Count, Handles, whole, public, TellCapture, "modules and libraries"},
	{ColContexts, Count, Handles, whole, public, TellCapture, "contexts"},
	{ColPools, Count, Handles, whole, public, TellCapture, "memory pools of the driver"},
	{ColDriverAllocs, Count, Total, whole, public, TellCapture, "allocations of the driver"},
	{ColDriverFrees, Count, Total, whole, public, TellCapture, "frees of the driver"},
	{ColDriverFailed, Count, Total, whole, public, TellCapture, "allocations that the driver refused"},
	{ColCaptureLost, Count, Total, whole, public, TellCapture, "calls of the driver that were missed"},

	{ColExecutable, Bytes, Gauge, whole, public, TellImporter,
		"compiled programs of JAX, which are no arrays"},
	{ColAllocatedBytes, Bytes, Total, whole, public, TellImporter,
		"allocated over the whole run, freed or not (memray)"},
	{ColPeakHostHeap, Bytes, Gauge, whole, public, TellImporter, "most that the heap held at once (memray)"},
	{ColDRAM, Bytes, Gauge, perDevice, public, TellImporter,
		"buffers in a device's DRAM (allocation server; this and what follows)"},
	{ColL1, Bytes, Gauge, perDevice, public, TellImporter, "buffers in a device's L1"},
	{ColSystemMemory, Bytes, Gauge, perDevice, public, TellImporter, "buffers in memory of the host"},
	{ColL1Small, Bytes, Gauge, perDevice, public, TellImporter, "buffers in the small part of a device's L1"},
	{ColTrace, Bytes, Gauge, perDevice, public, TellImporter, "buffers for traces of commands"},
	{ColOtherMemory, Bytes, Gauge, perDevice, public, TellImporter, "buffers in memory of no known kind"},
	{ColCircular, Bytes, Gauge, perDevice, public, TellImporter, "circular buffers"},
	{ColKernels, Bytes, Gauge, perDevice, public, TellImporter, "kernels"},
}

// Columns is what is known of every column, in the order of the documentation.
// The caller owns the slice.
func Columns() []Column { return slices.Clone(columnTable[:]) }

// ColumnOf is what is known of a column, less its "@N". It reports false for
// one that is carried along unread.
func ColumnOf(column string) (Column, bool) {
	base, _, _ := SplitDevice(column)
	for i := range columnTable {
		if columnTable[i].Name == base {
			return columnTable[i], true
		}
	}
	return Column{}, false
}

// SplitDevice parts a per-device column from its device: "gpu_bytes@1" gives
// "gpu_bytes", 1, true. A column without "@N" comes back as it is, with -1 and
// false.
func SplitDevice(column string) (base string, device int, ok bool) {
	i := strings.LastIndexByte(column, '@')
	if i < 0 {
		return column, -1, false
	}
	n, err := strconv.Atoi(column[i+1:])
	if err != nil || n < 0 || column[i+1] == '+' {
		return column, -1, false
	}
	return column[:i], n, true
}

// Known reports whether column, less its "@N", is a column of gpumem's own. What
// importers carry along is not: tables of many other programs have such names.
func Known(column string) bool {
	c, ok := ColumnOf(column)
	return ok && c.Teller != TellImporter
}

// columnKind says which values a cell may hold.
type columnKind uint8

const (
	kindCarried columnKind = iota // not ours: any number; text is unknown
	kindAmount                    // ours: never negative
	kindTime                      // ours: any finite number
)

func kindOf(column string) columnKind {
	switch {
	case column == ColTime:
		return kindTime
	case Known(column):
		return kindAmount
	}
	return kindCarried
}
