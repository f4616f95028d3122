package importer

import (
	"bytes"
	"math"
	"sort"
	"strconv"

	"github.com/gpumem/gpumem/tracer/record"
)

// Markers of TensorLogic's memory check (TL_MEMORY_CHECK), of its allocation lines
// (TL_DEBUG_MEMORY) and of its pool statistics (TL_BUFFER_STATS). All sizes in them
// are MiB.
const (
	markGPU       = "[GPU_MEMORY] "
	markCheck     = "=== GPU Memory Check: "
	markAllocMB   = "GPU memory allocated: "
	markStats     = "=== Buffer Pool Stats: "
	markPooled    = "  Pooled buffers: "
	markPoolMB    = "  Pool memory: "
	markTotalMB   = "  Total memory: "
	markPurgedMB  = "   After purge: "
	markAfterGot  = "After allocation: "
	markAfterFree = "Before deallocation: "
	markPurged    = "Purged "
)

// gpuLine reads a line of the memory check or of the allocation lines; false when
// it is none. Each size of what the device has allocated is a row.
func (t *tlReader) gpuLine(line []byte) bool {
	if i := bytes.Index(line, []byte(markGPU)); i >= 0 {
		t.gpuEvent(line[i+len(markGPU):])
		return true
	}
	switch {
	case bytes.HasPrefix(line, []byte(markCheck)):
		t.phase = record.PhaseReleased
		if bytes.HasPrefix(line[len(markCheck):], []byte("Before")) {
			t.phase = record.PhaseBaseline
		}
	case bytes.HasPrefix(line, []byte(markAllocMB)):
		if t.allocated(line[len(markAllocMB):]) && t.phase != "" {
			t.atPhase()
		}
	case bytes.HasPrefix(line, []byte(markStats)):
		t.begin()
		t.gpuNow = record.Unknown()
	case bytes.HasPrefix(line, []byte(markPooled)) && t.rows.made > 0:
		if n, ok := t.number("Pooled buffers", line[len(markPooled):]); ok {
			t.rows.set(record.ColIdleCount, n)
		}
	case bytes.HasPrefix(line, []byte(markPoolMB)), bytes.HasPrefix(line, []byte(markTotalMB)):
		_, rest, _ := bytes.Cut(line, []byte(": "))
		if n, ok := t.mib(rest); ok && t.rows.made > 0 {
			t.kept(n)
		}
	case bytes.HasPrefix(line, []byte(markPurgedMB)):
		t.allocated(line[len(markPurgedMB):])
	default:
		return false
	}
	return true
}

// gpuEvent reads a line of TL_DEBUG_MEMORY: "Before allocation: 0.61 MB allocated".
func (t *tlReader) gpuEvent(rest []byte) {
	if bytes.HasPrefix(rest, []byte(markPurged)) || bytes.HasPrefix(rest, []byte("Non-pooled")) {
		return // its size is of the pool, or it has none
	}
	what, size, ok := bytes.Cut(rest, []byte(": "))
	if !ok {
		return
	}
	// One name a kind: the count of each is what became of so many buffers.
	switch string(what) + ": " {
	case markAfterGot:
		t.events[gotBuffer]++
	case markAfterFree:
		t.events[gaveBuffer]++
	}
	t.counted = true
	t.allocated(size)
}

// Names under which buffers of TensorLogic's lines are counted: new ones of the
// device, and references that ended.
const (
	gotBuffer  = "After allocation"
	gaveBuffer = "Before deallocation"
)

// allocated begins a row with a size of what the device has allocated.
func (t *tlReader) allocated(text []byte) bool {
	n, ok := t.mib(text)
	if ok {
		t.begin()
		t.rows.set(record.ColGPU, n)
		t.gpuRows++
		t.gpuNow = n
	}
	return ok
}

// kept fills in what the pool keeps. The rest of what the program allocated is live:
// Metal counts a process's resources, and nothing of the driver's.
func (t *tlReader) kept(idle float64) {
	t.rows.set(record.ColIdle, idle)
	if !record.IsUnknown(t.gpuNow) {
		t.rows.set(record.ColLive, max(t.gpuNow-idle, 0))
	}
}

// mib reads "N MB", where MB is MiB.
func (t *tlReader) mib(text []byte) (float64, bool) {
	number, _, ok := bytes.Cut(text, []byte(" MB"))
	v, err := strconv.ParseFloat(string(bytes.TrimSpace(number)), 64)
	if !ok || err != nil || !(v >= 0 && v < 1<<30) {
		t.warn("", "size that cannot be read: %q", short(text))
		return 0, false
	}
	return math.Round(v * mib), true
}

// atPhase notes that the row at hand is of the baseline or of what was left. Before
// the run the pool has just been made, and is empty.
func (t *tlReader) atPhase() {
	if t.phase == record.PhaseBaseline {
		t.kept(0)
		t.rows.set(record.ColIdleCount, 0)
	}
	t.marks = append(t.marks, tlMark{t.phase, t.rows.made - 1})
	t.phase = ""
}

// tlMark is a phase and the row that it belongs to, from 0.
type tlMark struct {
	phase string
	row   int64
}

// phases turns the marks into events. A recording without times counts a second a
// row.
func (t *tlReader) phases() {
	for _, m := range t.marks {
		at := sort.Search(len(t.rows.order), func(i int) bool { return int64(t.rows.order[i]) >= m.row })
		t.run.Events = append(t.run.Events,
			record.Event{TMs: float64(at) * 1000, Kind: record.KindPhase, Name: m.phase})
	}
	if t.gpuRows > 0 {
		note(t.run, "sizes of the memory check have two decimals of a MiB: they are exact to 5 KiB")
	}
}
