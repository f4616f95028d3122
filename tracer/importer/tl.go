package importer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/gpumem/gpumem/tracer/record"
)

// Markers of the TL runtime's output, which stands among what the program
// itself prints.
const (
	markTrace  = "[TL_MEM_TRACE] "
	markMem    = "[TL_MEM] "
	markMetal  = "[TL_METAL] "
	markMemory = "Memory: "
	markPool   = " MB (metal_pool_"
	markEpoch  = "Epoch "
	markDone   = " complete in "
)

// mib is what the TL runtime calls MB.
const mib = 1 << 20

// tlColumns says where the counters of a TL log go.
//
//   - metal_pool_bytes and metal_pool_count are all buffers that Candle's
//     Metal pool holds, live and idle together. They stand in the live columns
//     because the pool drops what is unused at every flush of 50 encoders, so
//     that almost all of it is live; growth of live or idle memory in that pool
//     can be no more than theirs. pool_idle_bytes stays unknown.
//   - pool_count is TL's own pool of released tensors: idle ones.
//   - refcount_count is the size of TL's table of reference counts.
var tlColumns = map[string]string{
	"metal_pool_bytes": record.ColLive,
	"metal_pool_count": record.ColLiveCount,
	"pool_count":       record.ColIdleCount,
	"refcount_count":   record.ColRefs,
	"scope_depth":      record.ColScopeDepth,
	"depth":            record.ColScopeDepth, // of the memory log
}

func sniffTL(head []byte) bool {
	for _, m := range []string{markTrace, markMem, markMetal, markGPU, markCheck, markStats, markLeak} {
		if bytes.Contains(head, []byte(m)) {
			return true
		}
	}
	for len(head) > 0 {
		line, rest, _ := bytes.Cut(head, []byte("\n"))
		if _, ok := afterMemory(line); ok {
			return true
		}
		head = rest
	}
	return false
}

// tlReader reads one TL log.
type tlReader struct {
	*lines
	rows       *table
	opts       Options
	snapshots  int     // rows that come from Memory: lines
	epoch      float64 // completed so far
	epochBase  float64 // of the trainings before this one
	epochLines int
	statements *statementRank
	events     map[string]int64 // [TL_MEM] and [TL_METAL] lines by name
	counted    bool
	traced     bool      // statements or snapshots have rows
	metal      metalPool // what it held last
	scopes     int       // rows of the ends of scopes
	phase      string    // of the block of the memory check that was begun
	checked    bool      // there was such a block
	grown      float64   // by which the program says it leaked; NaN when it does not
	marks      []tlMark
	gpuRows    int
	gpuNow     float64 // allocated in the row at hand; unknown in a row without
}

// Columns for the steps: which Memory: line a row comes from, from 1, and the
// epochs completed before it.
const (
	tlSnapshot = hidden + "snapshot"
	tlEpoch    = hidden + "epoch"
)

// readTL reads a log of the TL runtime: a row a statement or snapshot line.
// The log has no clock, so the run has no times.
func readTL(in *bufio.Reader, run *record.Run, o Options) error {
	t := &tlReader{
		lines: newLines(in, run), opts: o, statements: newStatementRank(), events: map[string]int64{},
		grown: record.Unknown(),
		rows: newTable(tlSnapshot, tlEpoch, record.ColStep, record.ColRSS, record.ColGPU, record.ColIdle,
			record.ColLive, record.ColLiveCount, record.ColIdleCount,
			record.ColRefs, record.ColScopeDepth, record.ColAllocs, record.ColFrees, record.ColPoolHits,
			record.ColPoolMisses),
	}
	t.rows.by = record.ColRSS
	t.keeps(t.rows)
	for {
		line, ok := t.next()
		if !ok {
			break
		}
		t.line(line)
	}
	t.finish()
	if t.rows.len() == 0 && len(t.events) == 0 {
		return errors.Join(errors.New("no line could be read"), t.err)
	}
	t.steps()
	t.balance()
	run.Samples = t.rows.samples()
	t.phases()
	run.Events = append(run.Events, t.statements.events()...)
	t.stopped()
	return nil
}

// line takes what it knows out of a line and leaves the rest alone.
func (t *tlReader) line(line []byte) {
	if i := bytes.Index(line, []byte(markTrace)); i >= 0 {
		t.trace(line[i+len(markTrace):])
	} else if i := bytes.Index(line, []byte(markMem)); i >= 0 {
		t.event(line[i+len(markMem):])
		t.scope(line[i+len(markMem):])
	} else if i := bytes.Index(line, []byte(markMetal)); i >= 0 {
		t.event(line[i+len(markMetal):])
		t.metalLine(line[i+len(markMetal):])
	} else if t.gpuLine(line) {
		return
	} else if rest, ok := afterMemory(line); ok {
		t.memory(rest)
	} else if n, ok := epochOf(line); ok {
		t.epochDone(n)
	}
}

// trace reads "file:line:col tag=KIND key=N …".
func (t *tlReader) trace(rest []byte) {
	at, fields, ok := bytes.Cut(rest, []byte(" tag="))
	if !ok || t.cut {
		t.warn("", "statement line without a tag: %q", short(rest))
		return
	}
	tag, fields, _ := bytes.Cut(fields, []byte(" "))
	if t.partial && !bytes.Contains(fields, []byte("scope_depth=")) {
		t.warn("", "the last line is cut and was left out")
		return
	}
	t.begin()
	t.traced = true
	rss, known := t.fields(bytes.Fields(fields), "rss_mb")
	if known {
		t.statements.add(clipped(string(at), maxPlace), clipped(string(tag), maxPlace), rss)
	}
}

// memory reads "N MB (metal_pool_mb=N, …)".
func (t *tlReader) memory(rest []byte) {
	number, fields, _ := bytes.Cut(rest, []byte(" MB ("))
	list, _, closed := bytes.Cut(fields, []byte(")"))
	if !closed {
		t.warn("", "snapshot line without an end: %q", short(rest))
		return
	}
	t.begin()
	t.traced = true
	t.snapshots++
	t.rows.set(tlSnapshot, float64(t.snapshots))
	if n, ok := t.number("Memory", number); ok {
		t.rows.set(record.ColRSS, n*mib)
	}
	t.fields(bytes.Fields(bytes.ReplaceAll(list, []byte(","), []byte(" "))), "")
}

// begin starts a row with what was counted before it.
func (t *tlReader) begin() {
	t.rows.row()
	t.rows.set(tlEpoch, t.epoch)
	if !t.counted {
		return
	}
	for _, c := range []struct {
		column string
		names  []string
	}{
		{record.ColAllocs, []string{"register_tensor"}}, {record.ColFrees, []string{"free_tensor"}},
		{record.ColPoolMisses, []string{gotBuffer}},
		{record.ColPoolHits, []string{"reuse_buffer"}},
		{record.ColPoolMisses, []string{"alloc_buffer", "alloc_buffer_data"}},
	} {
		sum, seen := int64(0), false
		for _, name := range c.names {
			n, ok := t.events[name]
			sum, seen = sum+n, seen || ok
		}
		if seen {
			t.rows.set(c.column, float64(sum))
		}
	}
}

// fields fills the row from key=N pairs. It returns the resident bytes when
// rssKey is among them and known.
func (t *tlReader) fields(pairs [][]byte, rssKey string) (rss float64, known bool) {
	for _, p := range pairs {
		key, value, ok := bytes.Cut(p, []byte("="))
		if !ok {
			t.warn("", "not a key=value pair: %q", short(p))
			continue
		}
		column, mapped := tlColumns[string(key)]
		if !mapped && string(key) != rssKey {
			continue // metal_pool_mb repeats metal_pool_bytes; others are not ours
		}
		n, ok := t.number(string(key), value)
		switch {
		case !ok:
		case mapped:
			t.rows.set(column, n)
		default:
			t.rows.set(record.ColRSS, n*mib)
			rss, known = n*mib, true
		}
	}
	return rss, known
}

// number reads a counter. −1 is the runtime's word for unknown (it cannot
// read its resident size off macOS) and is no fault.
func (t *tlReader) number(column string, text []byte) (float64, bool) {
	n, err := strconv.ParseInt(string(text), 10, 64)
	switch {
	case err == nil && n >= 0 && n < 1<<53:
		return float64(n), true
	case err == nil && n == -1:
		return 0, false
	}
	t.warn(column, "bad number %q, taken as unknown", short(text))
	return 0, false
}

// maxEvents bounds the event names that are counted.
const maxEvents = 64

// event counts a [TL_MEM] or [TL_METAL] line by its first word.
func (t *tlReader) event(rest []byte) {
	name, _, _ := bytes.Cut(rest, []byte(" "))
	if len(name) > 0 && len(name) <= 40 && (len(t.events) < maxEvents || t.events[string(name)] > 0) {
		t.events[string(name)]++
		t.counted = true
	}
}

// afterMemory finds a snapshot line: "Memory: ", digits, " MB (metal_pool_".
func afterMemory(line []byte) ([]byte, bool) {
	i := bytes.Index(line, []byte(markMemory))
	if i < 0 {
		return nil, false
	}
	rest := line[i+len(markMemory):]
	number, _, ok := bytes.Cut(rest, []byte(markPool))
	return rest, ok && len(number) > 0 && len(number) <= 20 && !bytes.ContainsAny(number, " \t")
}

// epochOf reads "Epoch N complete in %.4fs".
func epochOf(line []byte) (float64, bool) {
	i := bytes.Index(line, []byte(markEpoch))
	if i < 0 {
		return 0, false
	}
	number, _, ok := bytes.Cut(line[i+len(markEpoch):], []byte(markDone))
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(string(number), 10, 40)
	return float64(n), err == nil && n >= 0
}

// epochDone counts on when a new training begins to count from the start.
func (t *tlReader) epochDone(n float64) {
	t.epochLines++
	if t.epochBase+n <= t.epoch && t.epochLines > 1 {
		t.warn("", "epoch %g after epoch %g: taken as the start of another training", n, t.epoch-t.epochBase)
		t.epochBase = t.epoch
	}
	t.epoch = t.epochBase + n
}

// steps fills the step column by the best the log or the caller offers.
func (t *tlReader) steps() {
	t.rows.even()
	per := float64(t.opts.StepsPerLine)
	switch {
	case per > 0:
		t.stepsFrom(tlSnapshot, per)
		t.run.Meta.Flags = map[string]string{"steps-per-line": strconv.FormatInt(t.opts.StepsPerLine, 10)}
	case t.epochLines > 0:
		t.stepsFrom(tlEpoch, 1)
	case t.snapshots > 0:
		t.stepsFrom(tlSnapshot, 1)
		note(t.run,
			"the log does not say how many steps lie between two Memory: lines: one line counts as one "+
				"step (--steps-per-line)")
	case t.rows.len() > 0:
		for row, order := range t.rows.order {
			t.rows.at(row, record.ColStep, float64(order+1))
		}
		what := "statement"
		if t.scopes > 0 && !t.traced {
			what = "scope"
		}
		if t.gpuRows > 0 {
			what = "line"
		}
		note(t.run, "the log has no epoch lines: one %s counts as one step", what)
	}
	t.rows.said(t.run)
	if t.rows.len() > 0 {
		note(t.run, "the log has no times: growth a second is unknown")
	}
	if t.rows.used[t.rows.index[record.ColLive]] && t.gpuRows == 0 {
		note(t.run,
			"metal_pool_bytes counts live and idle buffers of the Metal pool together; it stands as live")
	}
}

// stepsFrom fills the step column from another one, times a factor.
func (t *tlReader) stepsFrom(column string, times float64) {
	for row, v := range t.rows.cols[t.rows.index[column]] {
		if !record.IsUnknown(v) {
			t.rows.at(row, record.ColStep, v*times)
		}
	}
}

// balance compares what was registered with what was freed.
func (t *tlReader) balance() {
	made, freed := t.events["register_tensor"], t.events["free_tensor"]
	if made == 0 && freed == 0 {
		return
	}
	text := fmt.Sprintf("register_tensor %d, free_tensor %d", made, freed)
	switch {
	case made == freed:
		text += ": balanced"
	case made > freed:
		text += fmt.Sprintf(": %d tensors were not freed", made-freed)
	default:
		text += fmt.Sprintf(": %d more were freed than the log saw registered", freed-made)
	}
	t.run.Events = append(t.run.Events, record.Event{Kind: record.KindEvent, Name: "balance", Text: text})
	if made != freed {
		note(t.run, "%s", text)
	}
}
