package importer

import "github.com/gpumem/gpumem/tracer/record"

// torchAction is what an event of a trace did to the accounts.
type torchAction uint8

const (
	torchOther torchAction = iota
	torchAlloc
	torchFree
	torchReserve
	torchRelease
	torchOOM
)

// torchActions are the actions that count. free_requested is only the wish of
// a stream; what it frees is free when free_completed says so.
var torchActions = map[string]torchAction{
	"alloc": torchAlloc, "free_completed": torchFree, "free": torchFree,
	"segment_alloc": torchReserve, "segment_map": torchReserve,
	"segment_free": torchRelease, "segment_unmap": torchRelease, "oom": torchOOM,
}

// torchEvent is one dict of a trace, reduced to what is needed of it.
type torchEvent struct {
	action torchAction
	micros float64
	size   float64
	free   float64 // on the device, of an oom
}

// takeEvent takes the dict of an event when it is complete: a trace has
// millions, and none is needed once it is counted. It waits in r.pending until
// its list is known.
func (r *torchReader) takeEvent(kv []value) (value, bool) {
	var e torchEvent
	found := false
	for i := 0; i < len(kv); i += 2 {
		switch r.string(kv[i]) {
		case "action":
			found = kv[i+1].kind() == kindString
			e.action = torchActions[r.string(kv[i+1])]
		case "size":
			e.size = r.amount(kv[i+1])
		case "time_us":
			e.micros = r.amount(kv[i+1])
		case "device_free":
			e.free = r.amount(kv[i+1])
		}
	}
	if !found {
		return 0, false
	}
	r.pending = append(r.pending, e)
	return value(len(r.pending)-1)<<4 | kindTaken, true
}

// maxTraces bounds the lists of events; a snapshot has one a device.
const maxTraces = 1 << 12

// takeEvents counts the events that are appended to a trace. The events are
// the last ones that wait, because what stands above a mark came last.
func (r *torchReader) takeEvents(list value, vs []value) bool {
	taken := false
	for _, v := range vs {
		if v.kind() != kindTaken || v.index() >= len(r.pending) {
			continue
		}
		taken = true
		s := r.traces[list]
		if s == nil {
			if len(r.traces) >= maxTraces {
				break
			}
			s = &torchTrace{}
			r.traces[list] = s
		}
		s.add(r.pending[v.index()])
	}
	if taken && vs[0].kind() == kindTaken {
		r.pending = r.pending[:min(len(r.pending), vs[0].index())]
	}
	return taken
}

// torchMoment is the state of a device's accounts, told from the first event
// on: the state before it is known only at the end of the file.
type torchMoment struct{ micros, live, reserved, count float64 }

// maxMoments bounds the moments that are kept of a trace. Beyond it the
// moments are put together, and of each group the lowest and the highest stay.
const maxMoments = 1 << 20

// torchTrace is the course of one device, in bounded memory.
type torchTrace struct {
	rows   pages[torchMoment]
	now    torchMoment
	begun  bool
	events int64
	merged int // moments a group; 0 as long as each has its row
	group  []torchMoment
	ooms   []torchEvent
	late   int64 // events with a time before the one before them
}

// maxOOMs bounds the failed allocations that are told.
const maxOOMs = 100

func (s *torchTrace) add(e torchEvent) {
	switch {
	case e.action == torchOOM:
		if len(s.ooms) < maxOOMs {
			s.ooms = append(s.ooms, e)
		}
		return
	case e.action == torchOther || e.size == 0:
		return
	}
	s.events++
	if s.begun && e.micros < s.now.micros {
		s.late++
		e.micros = s.now.micros
	}
	if s.begun && (e.micros > s.now.micros || e.micros == 0) { // without times each event is a moment
		s.row(s.now)
	}
	s.begun = true
	s.now.micros = e.micros
	switch e.action {
	case torchAlloc:
		s.now.live += e.size
		s.now.count++
	case torchFree:
		s.now.live -= e.size
		s.now.count--
	case torchReserve:
		s.now.reserved += e.size
	case torchRelease:
		s.now.reserved -= e.size
	}
}

// row keeps a moment that is complete.
func (s *torchTrace) row(m torchMoment) {
	if s.merged == 0 {
		s.rows.add(m)
	} else if s.group = append(s.group, m); len(s.group) == s.merged {
		s.flush()
	}
	if s.rows.n < maxMoments {
		return
	}
	var kept pages[torchMoment]
	for i := 0; i+4 <= s.rows.n; i += 4 {
		s.extremes(&kept, []torchMoment{s.rows.at(i), s.rows.at(i + 1), s.rows.at(i + 2), s.rows.at(i + 3)})
	}
	s.rows = kept
	s.merged = max(4, 2*s.merged)
}

func (s *torchTrace) flush() {
	s.extremes(&s.rows, s.group)
	s.group = s.group[:0]
}

// extremes adds the moments with the least and the most live memory, in their
// order.
func (s *torchTrace) extremes(to *pages[torchMoment], group []torchMoment) {
	if len(group) == 0 {
		return
	}
	low, high := 0, 0
	for i, m := range group {
		if m.live < group[low].live {
			low = i
		}
		if m.live >= group[high].live {
			high = i
		}
	}
	to.add(group[min(low, high)])
	if low != high {
		to.add(group[max(low, high)])
	}
}

// end closes the trace: its last moment always has a row.
func (s *torchTrace) end() {
	if !s.begun {
		return
	}
	s.flush()
	s.rows.add(s.now)
}

// oom is a failed allocation as an event of the run.
func oomEvent(e torchEvent, origin float64) record.Event {
	out := record.Event{Kind: record.KindEvent, Name: "oom", Text: oomText(e)}
	if e.micros > origin {
		out.TMs = (e.micros - origin) / 1000
	}
	return out
}
