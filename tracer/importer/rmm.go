package importer

import (
	"bufio"
	"bytes"
	"errors"
	"strconv"

	"github.com/gpumem/gpumem/tracer/record"
)

// rmmHeader is the first line of a log of RMM's logging adaptor.
const rmmHeader = "Thread,Time,Action,Pointer,Size,Stream"

// maxRMMLive bounds the live allocations that are kept by pointer, at about
// 24 bytes each. Beyond it an allocation is counted and not remembered; a free
// of a pointer that is not remembered is then taken for one of these, with the
// size that the log has for it.
const maxRMMLive = 2 << 20

func sniffRMM(head []byte) bool { return bytes.HasPrefix(head, []byte(rmmHeader)) }

// rmmReader turns events into the state after each: a row an event.
type rmmReader struct {
	*lines
	rows   *table
	live   map[uint64]uint64 // size by pointer
	bytes  float64
	allocs float64
	frees  float64
	origin int64 // microseconds of the first line
	last   int64 // of the line before, days added
	begun  bool
	most   int   // live allocations that are remembered
	beyond int64 // allocations over that
	others int64 // of these, still live
}

// Columns of the rows, by index.
const (
	rmmTime = iota
	rmmLive
	rmmCount
	rmmAllocs
	rmmFrees
)

// readRMM reads a log of RMM's logging adaptor. What the adaptor sees is what
// was asked of it: live bytes, and nothing of pools below it.
func readRMM(in *bufio.Reader, run *record.Run) error {
	r := newRMM(in, run)
	return r.read()
}

func newRMM(in *bufio.Reader, run *record.Run) *rmmReader {
	r := &rmmReader{lines: newLines(in, run), live: map[uint64]uint64{}, most: maxRMMLive,
		rows: newTable(record.ColTime, record.ColLive, record.ColLiveCount, record.ColAllocs,
			record.ColFrees)}
	r.rows.by = record.ColLive
	r.keeps(r.rows)
	return r
}

func (r *rmmReader) read() error {
	run := r.run
	r.next() // the header, as sniffed
	for {
		line, ok := r.next()
		if !ok {
			break
		}
		if len(line) > 0 {
			r.line(line)
		}
	}
	r.finish()
	if r.rows.len() == 0 {
		return errors.Join(errors.New("no event could be read"), r.err)
	}
	run.Samples = r.rows.samples()
	r.rows.said(run)
	note(run, "an RMM log has no driver counter: memory that a pool below the adaptor keeps is not seen")
	if r.beyond > 0 {
		note(run,
			"%d allocations beyond %d live ones were counted and not remembered: their frees are known by "+
				"size alone", r.beyond, r.most)
	}
	r.stopped()
	return nil
}

// line reads "Thread,HH:MM:SS.ffffff,Action,Pointer,Size,Stream".
func (r *rmmReader) line(line []byte) {
	f, n := rmmFields(line)
	if n != 6 || r.cut {
		r.warn("", "%d fields instead of 6", n)
		return
	}
	t, ok := clockMicros(f[1])
	if !ok {
		r.warn("Time", "bad time %q", short(f[1]))
		return
	}
	size, err := strconv.ParseUint(string(f[4]), 10, 53)
	if err != nil {
		r.warn("Size", "bad size %q", short(f[4]))
		return
	}
	ptr, err := strconv.ParseUint(string(bytes.TrimPrefix(f[3], []byte("0x"))), 16, 64)
	action := string(f[2])
	if err != nil && action != "allocate failure" {
		r.warn("Pointer", "bad pointer %q", short(f[3]))
		return
	}
	if !r.apply(action, ptr, size) {
		return
	}
	r.row(t)
}

// rmmFields are the fields of a line, and how many there are.
func rmmFields(line []byte) (f [6][]byte, n int) {
	for {
		i := bytes.IndexByte(line, ',')
		if n < len(f) {
			f[n] = line
			if i >= 0 {
				f[n] = line[:i]
			}
		}
		n++
		if i < 0 {
			return f, n
		}
		line = line[i+1:]
	}
}

// apply changes the state by one event; false when it leaves no row.
func (r *rmmReader) apply(action string, ptr, size uint64) bool {
	switch action {
	case "allocate":
		r.allocate(ptr, size)
	case "free":
		return r.free(ptr, size)
	case "allocate failure":
		r.warn("Action", "allocation of %d bytes failed", size)
		return false
	default:
		r.warn("Action", "unknown action %q", short([]byte(action)))
		return false
	}
	return true
}

func (r *rmmReader) allocate(ptr, size uint64) {
	old, again := r.live[ptr]
	switch {
	case again:
		r.warn("Pointer", "0x%x allocated twice: a free is missing", ptr)
		r.bytes -= float64(old)
		r.live[ptr] = size
	case len(r.live) < r.most:
		r.live[ptr] = size
	default:
		r.beyond++
		r.others++
	}
	r.bytes += float64(size)
	r.allocs++
}

func (r *rmmReader) free(ptr, size uint64) bool {
	old, known := r.live[ptr]
	switch {
	case !known && r.others == 0:
		r.warn("Pointer", "0x%x freed without an allocation in this log", ptr)
		return false
	case !known:
		r.others--
		old = min(size, uint64(r.bytes))
	case old != size:
		r.warn("Size", "0x%x freed with %d bytes, allocated with %d", ptr, size, old)
	}
	delete(r.live, ptr)
	r.bytes -= float64(old)
	r.frees++
	return true
}

// row writes the state. The log's times have no date: a step back of more
// than half a day is midnight.
func (r *rmmReader) row(micros int64) {
	const day = 24 * 3600 * 1_000_000
	if r.begun {
		micros += (r.last / day) * day
		if micros < r.last-day/2 {
			micros += day
		}
	} else {
		r.origin, r.begun = micros, true
	}
	r.last = max(micros, 0)
	r.rows.row()
	r.rows.put(rmmTime, float64(micros-r.origin)/1000)
	r.rows.put(rmmLive, r.bytes)
	r.rows.put(rmmCount, float64(len(r.live))+float64(r.others))
	r.rows.put(rmmAllocs, r.allocs)
	r.rows.put(rmmFrees, r.frees)
}

// clockMicros reads HH:MM:SS.ffffff, with one to nine digits of fraction.
func clockMicros(b []byte) (int64, bool) {
	if len(b) < 8 || b[2] != ':' || b[5] != ':' {
		return 0, false
	}
	h, err1 := strconv.ParseUint(string(b[:2]), 10, 8)
	m, err2 := strconv.ParseUint(string(b[3:5]), 10, 8)
	s, err3 := strconv.ParseFloat(string(b[6:]), 64)
	if err1 != nil || err2 != nil || err3 != nil || h > 23 || m > 59 || !(s >= 0 && s < 61) {
		return 0, false
	}
	return int64(h*3600+m*60)*1_000_000 + int64(s*1e6+.5), true
}
