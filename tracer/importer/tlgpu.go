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
	markLeak      = "WARNING: GPU memory leak detected!"
	markLeft      = " of GPU memory was not freed after execution."
	markGivenBack = " freed)"
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
		t.phase, t.checked = record.PhaseReleased, true
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
	case bytes.HasSuffix(line, []byte(markLeft)):
		t.grown, _ = t.mib(line)
	case bytes.HasPrefix(line, []byte(markPurgedMB)):
		t.afterPurge(line[len(markPurgedMB):])
	default:
		return false
	}
	return true
}

// gpuEvent reads a line of TL_DEBUG_MEMORY: "Before allocation: 0.61 MB allocated".
func (t *tlReader) gpuEvent(rest []byte) {
	if bytes.HasPrefix(rest, []byte("Non-pooled")) {
		return // it has no size
	}
	if purged, ok := bytes.CutPrefix(rest, []byte(markPurged)); ok {
		t.purged(purged)
		return
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
	first := t.gpuRows == 0
	if !t.allocated(size) || t.checked {
		return
	}
	// Without the memory check these lines have the phases.
	switch {
	case string(what) == "After cleanup":
		t.phase = record.PhaseReleased
		t.atPhase()
	case first && string(what) == "Before allocation":
		t.phase = record.PhaseBaseline
		t.atPhase()
	}
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
		t.row(n, "")
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

// purged reads "N buffers (N MB) from buffer pool": what the pool kept until then.
func (t *tlReader) purged(rest []byte) {
	count, size, ok := bytes.Cut(rest, []byte(" buffers ("))
	if !ok || t.checked || !t.released() {
		return // the memory check said it before
	}
	if n, ok := t.number("Purged", count); ok {
		t.rows.set(record.ColIdleCount, n)
	}
	if n, ok := t.mib(size); ok {
		t.kept(n)
	}
}

// released reports that the row at hand is of what was left.
func (t *tlReader) released() bool {
	n := len(t.marks)
	return n > 0 && t.marks[n-1] == tlMark{record.PhaseReleased, t.rows.made - 1}
}

// afterPurge reads "N MB (+N MB freed)". With the warning before it this is all that a
// program says when nothing is set: what it had before it ran, what was left, and what
// of that its pool had kept.
func (t *tlReader) afterPurge(text []byte) {
	now, rest, _ := bytes.Cut(text, []byte("("))
	left, ok := t.mib(now)
	freed, known := 0., false
	if bytes.HasSuffix(rest, []byte(markGivenBack)) {
		freed, known = t.mib(rest)
	}
	alone := len(t.marks) == 0 && t.scopes == 0 && !t.traced // other rows have their own course
	if ok && known && alone && t.grown >= 0 {
		t.row(max(left+freed-t.grown, 0), record.PhaseBaseline)
		t.row(left+freed, record.PhaseReleased)
		t.kept(freed)
	}
	if ok {
		t.row(left, "")
	}
}

// row begins a row with what the device has allocated.
func (t *tlReader) row(allocated float64, phase string) {
	t.begin()
	t.rows.set(record.ColGPU, allocated)
	t.gpuRows++
	t.gpuNow = allocated
	if phase != "" {
		t.phase = phase
		t.atPhase()
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
