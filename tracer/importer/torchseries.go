package importer

import (
	"fmt"
	"time"

	"github.com/gpumem/gpumem/tracer/record"
)

// series makes samples of the traces, one list of events a device: the state
// after each moment, counted backward from the state at the end, because the
// ring of events begins somewhere in the life of the program.
func (r *torchReader) series(traces []value) {
	var courses []*torchCourse
	for i, list := range traces[:min(len(traces), maxDevices)] {
		s := r.traces[list]
		if s == nil {
			continue
		}
		s.end()
		if s.events > 0 || len(s.ooms) > 0 {
			d := r.device(uint64(i))
			d.events += int(s.events)
			courses = append(courses, &torchCourse{torchTrace: s, device: d})
		}
	}
	devices := r.sorted()
	t := newTorchTable(devices, !r.exported)
	if !anyRows(courses) {
		t.row()
		for _, d := range devices {
			t.state(d, d.live, d.live+d.idle, d.liveCount)
		}
		r.run.Samples = t.samples()
		r.failures(courses, 0)
		return
	}
	r.replay(t, devices, courses)
}

// torchCourse is a trace while the rows of all devices are put together.
type torchCourse struct {
	*torchTrace
	device *torchDevice
	next   int
}

func anyRows(courses []*torchCourse) bool {
	for _, c := range courses {
		if c.rows.n > 0 {
			return true
		}
	}
	return false
}

// earliest is the time of the next row of any device.
func earliest(courses []*torchCourse) (micros float64, ok bool) {
	for _, c := range courses {
		if c.next < c.rows.n && (!ok || c.rows.at(c.next).micros < micros) {
			micros, ok = c.rows.at(c.next).micros, true
		}
	}
	return micros, ok
}

func (r *torchReader) replay(t *torchTable, devices []*torchDevice, courses []*torchCourse) {
	before := statesBefore(devices, courses)
	now := make(map[*torchDevice]*torchMoment, len(devices))
	for _, d := range devices {
		b := before[d]
		now[d] = &b
	}
	origin, _ := earliest(courses)
	rows := 0
	for _, c := range courses {
		rows += c.rows.n
	}
	t.room(rows)
	bad := 0
	for micros, ok := origin, true; ok; micros, ok = earliest(courses) {
		for _, c := range courses {
			if c.next == c.rows.n || c.rows.at(c.next).micros != micros {
				continue // the rows of a device have one moment each
			}
			m, b := c.rows.at(c.next), before[c.device]
			*now[c.device] = torchMoment{live: b.live + m.live, reserved: b.reserved + m.reserved,
				count: b.count + m.count}
			c.next++
		}
		t.row()
		if origin > 0 {
			t.set(record.ColTime, (micros-origin)/1000)
		}
		bad += t.states(devices, now)
	}
	r.run.Samples = t.samples()
	r.run.Meta.Start, r.run.Meta.End = torchTimes(origin, courses)
	r.failures(courses, origin)
	r.courseNotes(courses, origin, bad)
}

// statesBefore are the states before the first event, counted back from the
// end.
func statesBefore(devices []*torchDevice, courses []*torchCourse) map[*torchDevice]torchMoment {
	before := make(map[*torchDevice]torchMoment, len(devices))
	for _, d := range devices {
		before[d] = torchMoment{live: d.live, reserved: d.live + d.idle, count: d.liveCount}
	}
	for _, c := range courses {
		b := before[c.device]
		before[c.device] = torchMoment{live: b.live - c.now.live, reserved: b.reserved - c.now.reserved,
			count: b.count - c.now.count}
	}
	return before
}

// torchTimes are the times of the first and the last moment. PyTorch counts
// microseconds since the epoch; what cannot be that is no time of day.
func torchTimes(origin float64, courses []*torchCourse) (start time.Time, end *time.Time) {
	const year2001, year2200 = 1e15, 7e15
	last := origin
	for _, c := range courses {
		last = max(last, c.now.micros)
	}
	if origin < year2001 || last > year2200 {
		return time.Time{}, nil
	}
	t := time.UnixMicro(int64(last)).UTC()
	return time.UnixMicro(int64(origin)).UTC(), &t
}

// failures tells the allocations that failed.
func (r *torchReader) failures(courses []*torchCourse, origin float64) {
	for _, c := range courses {
		for _, e := range c.ooms {
			r.run.Events = append(r.run.Events, oomEvent(e, origin))
		}
	}
}

func (r *torchReader) courseNotes(courses []*torchCourse, origin float64, bad int) {
	for _, c := range courses {
		if c.merged > 0 {
			note(r.run, "device %d: of each %d moments the lowest and the highest are kept",
				c.device.index, c.merged)
		}
		if c.late > 0 {
			note(r.run, "device %d: %d events are earlier than the one before them and count as of its time",
				c.device.index, c.late)
		}
	}
	if bad > 0 {
		note(r.run, "%d states of the events do not fit the segments and count as unknown", bad)
	}
	if origin == 0 {
		note(r.run, "the events have no times: growth a second is unknown")
	}
}

func oomText(e torchEvent) string {
	return fmt.Sprintf("an allocation of %.0f bytes failed with %.0f bytes free on the device",
		e.size, e.free)
}

// torchTable has the accounts' columns, one set a device where there are
// several.
type torchTable struct {
	*table
	suffix  map[*torchDevice]string
	counted bool // blocks are allocations of the program
}

func newTorchTable(devices []*torchDevice, counted bool) *torchTable {
	t := &torchTable{suffix: map[*torchDevice]string{}, counted: counted}
	names := []string{record.ColTime}
	for _, d := range devices {
		s := ""
		if len(devices) > 1 {
			s = fmt.Sprintf("@%d", d.index)
		}
		t.suffix[d] = s
		names = append(names, record.ColLive+s, record.ColIdle+s, record.ColLiveCount+s)
	}
	t.table = newTable(names...)
	return t
}

// states fills the last row and returns how many states cannot be.
func (t *torchTable) states(devices []*torchDevice, now map[*torchDevice]*torchMoment) (bad int) {
	for _, d := range devices {
		s := now[d]
		if s.live < 0 || s.reserved < s.live || s.count < 0 {
			bad++
			continue
		}
		t.state(d, s.live, s.reserved, s.count)
	}
	return bad
}

func (t *torchTable) state(d *torchDevice, live, reserved, count float64) {
	s := t.suffix[d]
	t.set(record.ColLive+s, live)
	t.set(record.ColIdle+s, reserved-live)
	if t.counted {
		t.set(record.ColLiveCount+s, count)
	}
}
