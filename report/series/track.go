package series

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// Track is one process's usable rows: ascending times, no restart inside,
// cells that cannot be true made unknown. Its slices are its own.
type Track struct {
	PID        int
	trend.Axes           // the time with its gaps closed, in seconds since the run's start
	Clock      []float64 // the same, as recorded
	Cols       map[string][]float64
	Warn       []string
	// Untimed is a recording without times: T and Clock number the rows, and
	// nothing is known per second.
	Untimed bool
}

// ColumnsUsed are the columns the engine reads besides time, pid and step.
var ColumnsUsed = [...]string{
	record.ColRSS, record.ColRSSAnon, record.ColRSSFile, record.ColRSSShmem, record.ColSwap,
	record.ColFootprint, record.ColFileDirty, record.ColFileCode,
	record.ColHostHeap, record.ColHostHeapFree, record.ColImported, record.ColThreads, record.ColReserved,
	record.ColGCHeap, record.ColGCKept, record.ColGCCollections, record.ColGCFull,
	record.ColGPU,
	record.ColLive, record.ColIdle, record.ColLiveCount, record.ColIdleCount,
	record.ColRefs, record.ColInFlight, record.ColCommands, record.ColCommandBuffers, record.ColAllocs,
	record.ColFrees, record.ColPoolHits, record.ColPoolMisses, record.ColShapes, record.ColPipelines,
	record.ColDriverAllocs, record.ColDriverFailed, record.ColCommandBuffersOpen, record.ColEvents, record.ColStreams,
	record.ColGraphs,
	record.ColModules, record.ColContexts, record.ColPools, record.ColDriverAllocBytes, record.ColPinnedBytes,
	record.ColPinnedCount,
	record.ColDriverProgramBytes, record.ColDriverProgramCount, record.ColDriverManagedBytes,
	record.ColDriverPoolIdle, record.ColDriverPoolReserved, record.ColDriverPoolKeeps,
	record.ColCaptureLost,
}

// HeapAsRead is the column of the host's heap without what was put between its readings.
const HeapAsRead = record.ColHostHeap + ", as read"

// maxCell is the largest count of bytes believed: 1 EiB.
const maxCell = float64(1 << 60)

// TracksOf splits a run into processes and cleans each.
func TracksOf(run *record.Run) []*Track {
	s := run.Samples
	if s.Len() == 0 {
		return nil
	}
	tm := account.Column(s, record.ColTime)
	untimed := s.Column(record.ColTime) == nil
	switch {
	case untimed:
		tm = rowNumbers(s.Len())
	case tm == nil:
		return nil // times are there, and none can be read
	}
	step := account.Column(s, record.ColStep)
	pids, rows := account.ByPID(s, run.Meta.PID)
	marks := record.MarksOf(run.Events)
	out := make([]*Track, 0, len(pids))
	for _, p := range pids {
		k := newTrack(p, rows[p], tm, step, run, marks)
		k.Untimed = untimed
		out = append(out, k)
	}
	return out
}

// rowNumbers stand for the times of a recording that has none: one second a row,
// in milliseconds.
func rowNumbers(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = float64(i) * 1000
	}
	return out
}

// mostRows is how many rows of a process the engine works on: 64 for each of its
// blocks. More add no power, and so many are left of each process when the past of a
// run is thinned, so that the verdict stays the same.
const mostRows = 4096

// newTrack gathers a process's rows in time order and cleans its cells.
func newTrack(pid int, rows []int, tm, step []float64, run *record.Run, marks record.Marks) *Track {
	k := &Track{PID: pid, Cols: make(map[string][]float64, len(ColumnsUsed))}
	keep := make([]int, 0, len(rows))
	reversed := 0
	for _, i := range rows {
		if math.IsNaN(tm[i]) || math.Abs(tm[i]) > 1e15 {
			continue
		}
		if len(keep) > 0 && tm[i] < tm[keep[len(keep)-1]] {
			reversed++
		}
		keep = append(keep, i)
	}
	if d := len(rows) - len(keep); d > 0 {
		k.warnf("%s left out", units.Counted(d, "row without a usable time was", "rows without a usable time were"))
	}
	if reversed > 0 {
		k.warnf("time runs backward at %s; rows were put in order of time", units.Counted(reversed, "row", "rows"))
		sort.SliceStable(keep, func(a, b int) bool { return tm[keep[a]] < tm[keep[b]] })
	}
	keep = record.EvenRows(tm, run.Samples.Column(record.ColThinned), keep, marks, mostRows)
	k.Clock = pick(tm, keep)
	for i := range k.Clock {
		k.Clock[i] /= 1000
	}
	if step != nil {
		k.Step = FillForward(pick(step, keep))
	}
	for _, n := range ColumnsUsed {
		if c := account.ColumnAt(run.Samples, n, keep); c != nil {
			k.setColumn(n, c)
		}
	}
	k.T = k.Clock
	return k
}

func (k *Track) warnf(format string, a ...any) { k.Warn = append(k.Warn, fmt.Sprintf(format, a...)) }

// setColumn stores a cleaned column; one without a known cell is absent.
func (k *Track) setColumn(name string, v []float64) {
	bad, known := 0, 0
	for i, x := range v {
		if math.IsNaN(x) {
			continue
		}
		if x < 0 || x > maxCell {
			v[i] = math.NaN()
			bad++
			continue
		}
		known++
	}
	if bad > 0 {
		k.warnf("%s: %s as unknown", name, units.Counted(bad, "cell is negative or too large to be true and counts",
			"cells are negative or too large to be true and count"))
	}
	if known == 0 {
		return
	}
	if name == record.ColHostHeap {
		k.Cols[HeapAsRead] = slices.Clone(v)
		if known < len(v)/2 {
			interpolate(v) // agents read it less often than they sample
		}
	}
	k.Cols[name] = v
}

// pick copies the chosen rows of v.
func pick(v []float64, rows []int) []float64 {
	out := make([]float64, len(rows))
	for i, r := range rows {
		out[i] = v[r]
	}
	return out
}

// FillForward replaces unknown values by the last known one, and leading
// unknowns by the first known one.
func FillForward(v []float64) []float64 {
	last := math.NaN()
	for _, x := range v {
		if x == x {
			last = x
			break
		}
	}
	if last != last {
		return nil
	}
	for i, x := range v {
		if x == x && math.Abs(x) < maxCell {
			last = x
		}
		v[i] = last
	}
	return v
}

// interpolate puts unknown values between two known ones on the line between
// them. It is for a level that is read every so many rows; only the account
// that another one is held against is treated so, never one that is tested for
// growth of its own.
func interpolate(v []float64) {
	last := -1
	for i, x := range v {
		if x != x {
			continue
		}
		for j := last + 1; last >= 0 && j < i; j++ {
			v[j] = v[last] + (x-v[last])*float64(j-last)/float64(i-last)
		}
		last = i
	}
}

// rows is a copy of the track's rows [from, to).
func (k *Track) rows(from, to int) *Track {
	c := *k
	c.T, c.Clock = k.T[from:to], k.Clock[from:to]
	if k.Step != nil {
		c.Step = k.Step[from:to]
	}
	c.Cols = make(map[string][]float64, len(k.Cols))
	for n, v := range k.Cols {
		c.Cols[n] = v[from:to]
	}
	return &c
}

// epoch returns the longest part of the track without a restart: a step or
// running total that falls, or host and device bytes that both fall by half
// between two rows and were not about to end.
func (k *Track) epoch() *Track {
	cuts := []int{0}
	n := len(k.Clock)
	for i := 1; i < n; i++ {
		if k.restartAt(i) {
			cuts = append(cuts, i)
		}
	}
	cuts = append(cuts, n)
	if len(cuts) == 2 {
		return k
	}
	from, to := 0, 0
	for i := 1; i < len(cuts); i++ {
		if cuts[i]-cuts[i-1] >= to-from {
			from, to = cuts[i-1], cuts[i]
		}
	}
	if to-from == n {
		return k
	}
	out := k.rows(from, to)
	out.warnf("the process restarted %s; judged is its longest part, %d of %d rows",
		units.Counted(len(cuts)-2, "time", "times"), to-from, n)
	return out
}

func (k *Track) restartAt(i int) bool {
	if k.Step != nil && k.Step[i] < k.Step[i-1] {
		return true
	}
	if a := k.Cols[record.ColAllocs]; a != nil && a[i] < a[i-1]/2 {
		return true
	}
	r, g := k.Cols[record.ColRSS], k.Cols[record.ColGPU]
	return r != nil && g != nil && r[i] < r[i-1]/2 && g[i] < g[i-1]/2 && i < len(r)*49/50
}

// closeGaps makes k.T a time without the pauses in recording: up to five gaps
// of more than 20 median intervals count as one interval each, so that a
// clock that jumps or a suspended machine does not bend the trend.
func (k *Track) closeGaps() {
	n := len(k.Clock)
	if n < 12 {
		return
	}
	d := make([]float64, n-1)
	for i := range d {
		d[i] = k.Clock[i+1] - k.Clock[i]
	}
	m := stat.Median(d)
	gaps := 0
	for _, x := range d {
		if x > 20*m && x > 1 {
			gaps++
		}
	}
	if gaps == 0 || gaps > 5 || m <= 0 {
		return
	}
	t := make([]float64, n)
	t[0] = k.Clock[0]
	for i, x := range d {
		if x > 20*m && x > 1 {
			x = m
		}
		t[i+1] = t[i] + x
	}
	k.T = t
	k.warnf("%s closed", units.Counted(gaps, "pause in the recording, or jump of its clock, was",
		"pauses in the recording, or jumps of its clock, were"))
}
