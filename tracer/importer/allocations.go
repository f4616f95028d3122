package importer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gpumem/gpumem/tracer/record"
)

// Pieces of the event lines of an allocation server, as tt-metal's server and
// gpumem serve print them:
//
//	✓ [PID 7] Allocated 4096 bytes of L1 on device 0 (buffer_id=0x30000, ref_count=2)
//	✗ [PID 7] Freed buffer 0x30000 on device 0 (4096 bytes, FINAL)
//	⚠ [PID 7] Deallocation for unknown buffer 0x1 on device 0 (allocated before tracking started)
//	✓ [CB_ALLOC] Device 0: +0.012 MB (Total: 0.012 MB)
//	✓ [KERNEL_LOAD] Application kernel on Device 0: +0.012 MB (Total: 0.012 MB)
//	   PID 7 is dead, removing its buffers...
//
// Ids are decimal in the first version and hexadecimal from then on.
const (
	markPID       = "[PID "
	markAllocated = "] Allocated "
	markFreed     = "] Freed buffer "
	markUnknown   = "] Deallocation for unknown buffer "
	markDead      = " is dead, removing its buffers"
)

// maxLoggedBuffers bounds the live buffers that are kept, at about 80 bytes
// each.
const maxLoggedBuffers = 2 << 20

func sniffAllocations(head []byte) bool {
	for len(head) > 0 {
		line, rest, _ := bytes.Cut(head, []byte("\n"))
		head = rest
		if !bytes.Contains(line, []byte(markPID)) {
			continue
		}
		if bytes.Contains(line, []byte(markAllocated)) && bytes.Contains(line, []byte("(buffer_id=")) ||
			bytes.Contains(line, []byte(markFreed)) || bytes.Contains(line, []byte(markUnknown)) {
			return true
		}
	}
	return false
}

// bufferKey is what the server knows a buffer by.
type bufferKey struct {
	device int
	id     uint64
}

type loggedBuffer struct {
	size   uint64
	pid    int32
	refs   uint32
	memory uint8 // index of logReader.memories
}

// deviceTotals are one device's live buffers and counters, each with the index
// of its column.
type deviceTotals struct {
	suffix         string // of its columns
	bytes, count   total
	byMemory       map[string]*total // by column
	list           []*total          // all of them
	cb, kernel     total             // as the server printed them, in thousandths of a MiB
	hasCB, hasKern bool
}

// total is a number that stands in a column.
type total struct {
	column int
	value  float64
}

// maxMemories bounds the kinds of memory that are told apart; a server knows
// five.
const maxMemories = 64

type logReader struct {
	*lines
	live     map[bufferKey]loggedBuffer
	owned    map[int32]map[bufferKey]struct{} // what is live, by process
	memories []string                         // names of kinds of memory
	devices  map[int]*deviceTotals
	totals   []*deviceTotals // the same, in the order of the log
	rows     *table
	allocs   float64
	frees    float64
	unknown  int64
	unkept   int64 // allocations beyond maxLoggedBuffers
	pids     map[int]bool

	past      map[bufferKey]*PastBuffer // nil unless the books are asked for
	strange   int64                     // frees of buffers that are not in past
	forgotten int64                     // events that past had no room for
}

// readAllocations reads the event log of an allocation server: the state of
// the books after each event. The log has no clock.
func readAllocations(in *bufio.Reader, run *record.Run) error {
	r := newLogReader(in, run)
	r.read()
	if r.rows.len() == 0 {
		return errors.Join(errors.New("no event of an allocation server could be read"), r.err)
	}
	r.samples()
	r.remaining()
	r.notes()
	return nil
}

func newLogReader(in *bufio.Reader, run *record.Run) *logReader {
	r := &logReader{lines: newLines(in, run), live: map[bufferKey]loggedBuffer{},
		devices: map[int]*deviceTotals{},
		owned:   map[int32]map[bufferKey]struct{}{}, pids: map[int]bool{},
		rows: newTable(record.ColStep, record.ColAllocs, record.ColFrees, logTotal)}
	r.rows.by = logTotal
	r.keeps(r.rows)
	return r
}

// read reads to the end of the log.
func (r *logReader) read() {
	for {
		line, ok := r.next()
		if !ok {
			break
		}
		r.line(line)
	}
	r.finish()
}

// line takes an event out of a line and leaves all others alone: dumps and
// statistics stand between them.
func (r *logReader) line(line []byte) {
	i := bytes.Index(line, []byte("["))
	if i < 0 || r.cut {
		r.deadLine(line)
		return
	}
	rest := line[i:]
	switch {
	case bytes.HasPrefix(rest, []byte(markPID)):
		r.event(string(rest[len(markPID):]))
	case bytes.HasPrefix(rest, []byte("[CB_")), bytes.HasPrefix(rest, []byte("[KERNEL_")):
		r.counted(string(rest))
	}
}

// maxLoggedDevices bounds the devices of a log: each has columns of its own.
const maxLoggedDevices = 64

func loggedDevice(text string) (int, error) {
	d, err := strconv.ParseUint(text, 10, 31)
	if err == nil && d >= maxLoggedDevices {
		err = fmt.Errorf("device %d of at most %d", d, maxLoggedDevices)
	}
	return int(d), err
}

// event reads "P] Allocated …", "P] Freed …", "P] Deallocation for unknown …".
func (r *logReader) event(text string) {
	number, rest, ok := strings.Cut(text, "] ")
	pid, err := strconv.ParseInt(number, 10, 32)
	if !ok || err != nil {
		r.warn("", "bad process %q", short([]byte(number)))
		return
	}
	switch {
	case strings.HasPrefix(rest, "Allocated "):
		ok = r.allocated(int32(pid), strings.TrimPrefix(rest, "Allocated "))
	case strings.HasPrefix(rest, "Freed buffer "):
		ok = r.freed(int32(pid), strings.TrimPrefix(rest, "Freed buffer "))
	case strings.HasPrefix(rest, "Deallocation for unknown buffer"):
		r.unknown++
		r.freedTwice(int32(pid), strings.TrimPrefix(rest, "Deallocation for unknown buffer "))
		return
	default:
		return // what else a server says of a process
	}
	if !ok {
		r.warn("", "event that cannot be read: %q", short([]byte(rest)))
		return
	}
	if len(r.pids) < 1<<16 {
		r.pids[int(pid)] = true
	}
	r.row()
}

// allocated reads "N bytes of TYPE on device D (buffer_id=ID[, ref_count=R])".
func (r *logReader) allocated(pid int32, text string) bool {
	size, rest, ok1 := strings.Cut(text, " bytes of ")
	memory, rest, ok2 := strings.Cut(rest, " on device ")
	device, rest, ok3 := strings.Cut(rest, " (buffer_id=")
	inside, _, ok4 := strings.Cut(rest, ")")
	id, refs, shared := strings.Cut(inside, ", ref_count=")
	n, err1 := strconv.ParseUint(size, 10, 53)
	d, err2 := loggedDevice(device)
	key, err3 := strconv.ParseUint(id, 0, 64)
	if !ok1 || !ok2 || !ok3 || !ok4 || len(memory) > 40 || errors.Join(err1, err2, err3) != nil {
		return false
	}
	r.allocs++
	at := bufferKey{d, key}
	b, known := r.live[at]
	r.rememberAlloc(at, pid, memory, n, known && shared)
	if known && shared { // one more reference: the server's books do not change
		n, _ := strconv.ParseUint(refs, 10, 32)
		b.refs = uint32(n)
		r.live[at] = b
		return true
	}
	t := r.device(d)
	if known {
		r.drop(at, b)
		r.warn("", "buffer %s on device %d allocated twice: a free is missing", short([]byte(id)), d)
	} else if len(r.live) >= maxLoggedBuffers {
		r.unkept++
		return true
	}
	r.live[at] = loggedBuffer{size: n, pid: pid, memory: r.memory(memory), refs: 1}
	if r.owned[pid] == nil {
		r.owned[pid] = map[bufferKey]struct{}{}
	}
	r.owned[pid][at] = struct{}{}
	t.bytes.value += float64(n)
	t.count.value++
	r.of(t, r.live[at]).value += float64(n)
	return true
}

// memory is the index of a kind of memory.
func (r *logReader) memory(name string) uint8 {
	i := slices.Index(r.memories, name)
	if i >= 0 {
		return uint8(i)
	}
	if len(r.memories) >= maxMemories-1 {
		name = "other memory"
	}
	if len(r.memories) < maxMemories {
		r.memories = append(r.memories, strings.Clone(name))
	}
	return uint8(len(r.memories) - 1)
}

// of is the total of a buffer's kind of memory.
func (r *logReader) of(t *deviceTotals, b loggedBuffer) *total {
	name := record.MemoryColumn(r.memories[b.memory])
	m := t.byMemory[name]
	if m == nil {
		m = &total{column: r.rows.column(name + t.suffix)}
		t.byMemory[name] = m
		t.list = append(t.list, m)
	}
	return m
}

// freed reads "ID on device D (N bytes, FINAL)" or "(N bytes, ref_count=R
// remaining)".
func (r *logReader) freed(pid int32, text string) bool {
	id, rest, ok1 := strings.Cut(text, " on device ")
	device, rest, ok2 := strings.Cut(rest, " (")
	_, how, ok3 := strings.Cut(rest, " bytes, ")
	d, err1 := loggedDevice(device)
	key, err2 := strconv.ParseUint(id, 0, 64)
	if !ok1 || !ok2 || !ok3 || errors.Join(err1, err2) != nil {
		return false
	}
	r.frees++
	at := bufferKey{d, key}
	r.rememberFree(at, pid)
	b, known := r.live[at]
	switch {
	case !known:
		r.unknown++
	case strings.HasPrefix(how, "FINAL"):
		r.drop(at, b)
	default:
		b.refs--
		r.live[at] = b
	}
	return true
}

// freedTwice reads "ID on device D (allocated before tracking started)": a free of
// what is not on the server's books.
func (r *logReader) freedTwice(pid int32, text string) {
	id, rest, ok1 := strings.Cut(text, " on device ")
	device, _, ok2 := strings.Cut(rest, " (")
	d, err1 := loggedDevice(device)
	key, err2 := strconv.ParseUint(id, 0, 64)
	if ok1 && ok2 && errors.Join(err1, err2) == nil {
		r.rememberFree(bufferKey{d, key}, pid)
	}
}

func (r *logReader) drop(at bufferKey, b loggedBuffer) {
	t := r.device(at.device)
	t.bytes.value -= float64(b.size)
	r.of(t, b).value -= float64(b.size)
	t.count.value--
	delete(r.live, at)
	if delete(r.owned[b.pid], at); len(r.owned[b.pid]) == 0 {
		delete(r.owned, b.pid)
	}
}

// deadLine reads "PID P is dead, removing its buffers...": the server takes
// them off its books.
func (r *logReader) deadLine(line []byte) {
	i := bytes.Index(line, []byte(markDead))
	j := bytes.LastIndex(line[:max(i, 0)], []byte("PID "))
	if i < 0 || j < 0 {
		return
	}
	pid, err := strconv.ParseInt(string(line[j+len("PID "):i]), 10, 32)
	if err != nil {
		return
	}
	count, size := 0, uint64(0)
	for at := range r.owned[int32(pid)] {
		b := r.live[at]
		count, size = count+1, size+b.size
		if p := r.past[at]; p != nil {
			p.Died = true
		}
		r.drop(at, b)
	}
	if count > 0 {
		r.warn("", "process %d died with %d buffers, %.1f MiB, on the server's books", pid,
			count, float64(size)/mib)
		r.row()
	}
}

// counted reads the total of a circular buffer's or a kernel's line.
func (r *logReader) counted(text string) {
	_, rest, ok1 := strings.Cut(text, "Device ")
	device, rest, ok2 := strings.Cut(rest, ": ")
	_, rest, ok3 := strings.Cut(rest, "(Total: ")
	total, _, ok4 := strings.Cut(rest, " MB)")
	d, err1 := loggedDevice(device)
	v, err2 := strconv.ParseFloat(total, 64)
	if !ok1 || !ok2 || !ok3 || !ok4 || errors.Join(err1, err2) != nil || !(v >= 0 && v < 1<<30) {
		r.warn("", "counter that cannot be read: %q", short([]byte(text)))
		return
	}
	t := r.device(d)
	if strings.HasPrefix(text, "[CB_") {
		r.found(t, &t.cb, &t.hasCB, record.ColCircular)
		t.cb.value = float64(int64(v * mib))
	} else {
		r.found(t, &t.kernel, &t.hasKern, record.ColKernels)
		t.kernel.value = float64(int64(v * mib))
	}
	r.row()
}

func (r *logReader) device(d int) *deviceTotals {
	t := r.devices[d]
	if t == nil {
		t = &deviceTotals{suffix: "@" + strconv.Itoa(d), byMemory: map[string]*total{}}
		t.bytes.column = r.rows.column(record.ColLive + t.suffix)
		t.count.column = r.rows.column(record.ColLiveCount + t.suffix)
		t.list = []*total{&t.bytes, &t.count}
		r.devices[d] = t
		r.totals = append(r.totals, t)
	}
	return t
}

// found gives a counter that the server printed its column, the first time.
func (r *logReader) found(t *deviceTotals, c *total, has *bool, column string) {
	if !*has {
		c.column, *has = r.rows.column(column+t.suffix), true
		t.list = append(t.list, c)
	}
}

// remaining tells whose buffers are left, by process, device and memory.
func (r *logReader) remaining() {
	held := map[string]*record.Holder{}
	for at, b := range r.live {
		path := fmt.Sprintf("process %d: %s of device %d", b.pid, r.memories[b.memory], at.device)
		h := held[path]
		if h == nil {
			h = &record.Holder{Path: strings.ToValidUTF8(path, "\uFFFD")}
			held[path] = h
		}
		h.Bytes += int64(b.size)
		h.Count++
	}
	all := make([]record.Holder, 0, len(held))
	for _, h := range held {
		all = append(all, *h)
	}
	slices.SortFunc(all, func(a, b record.Holder) int {
		if a.Bytes != b.Bytes {
			return int(min(max(b.Bytes-a.Bytes, -1), 1))
		}
		return strings.Compare(a.Path, b.Path)
	})
	if len(all) > 0 {
		r.run.Events = append(r.run.Events,
			record.Event{Kind: record.KindHolders, Holders: all[:min(len(all), maxSites)]})
	}
}
