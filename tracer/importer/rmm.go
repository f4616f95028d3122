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
// 60 bytes each. Beyond it an allocation is counted and not remembered.
const maxRMMLive = 8 << 20

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
	beyond int64 // allocations over maxRMMLive
}

// readRMM reads a log of RMM's logging adaptor. What the adaptor sees is what
// was asked of it: live bytes, and nothing of pools below it.
func readRMM(in *bufio.Reader, run *record.Run) error {
	r := &rmmReader{lines: newLines(in, run), live: map[uint64]uint64{},
		rows: newTable(record.ColTime, record.ColLive, record.ColLiveCount, record.ColAllocs, record.ColFrees)}
	r.keeps(r.rows)
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
	note(run, "an RMM log has no driver counter: memory that a pool below the adaptor keeps is not seen")
	if r.beyond > 0 {
		note(run, "%d allocations beyond %d live ones were not remembered: their frees count as unknown", r.beyond, maxRMMLive)
	}
	if r.err != nil {
		note(run, "reading stopped after line %d: %v", r.n, r.err)
	}
	return nil
}

// line reads "Thread,HH:MM:SS.ffffff,Action,Pointer,Size,Stream".
func (r *rmmReader) line(line []byte) {
	f := bytes.Split(line, []byte(","))
	if len(f) != 6 || r.cut {
		r.warn("", "%d fields instead of 6", len(f))
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

// apply changes the state by one event; false when it leaves no row.
func (r *rmmReader) apply(action string, ptr, size uint64) bool {
	switch action {
	case "allocate":
		if old, ok := r.live[ptr]; ok {
			r.warn("Pointer", "0x%x allocated twice: a free is missing", ptr)
			r.bytes -= float64(old)
		} else if len(r.live) >= maxRMMLive {
			r.beyond++
			return false
		}
		r.live[ptr] = size
		r.bytes += float64(size)
		r.allocs++
	case "free":
		old, ok := r.live[ptr]
		if !ok {
			r.warn("Pointer", "0x%x freed without an allocation in this log", ptr)
			return false
		}
		if old != size {
			r.warn("Size", "0x%x freed with %d bytes, allocated with %d", ptr, size, old)
		}
		delete(r.live, ptr)
		r.bytes -= float64(old)
		r.frees++
	case "allocate failure":
		r.warn("Action", "allocation of %d bytes failed", size)
		return false
	default:
		r.warn("Action", "unknown action %q", short([]byte(action)))
		return false
	}
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
	r.rows.set(record.ColTime, float64(micros-r.origin)/1000)
	r.rows.set(record.ColLive, r.bytes)
	r.rows.set(record.ColLiveCount, float64(len(r.live)))
	r.rows.set(record.ColAllocs, r.allocs)
	r.rows.set(record.ColFrees, r.frees)
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
