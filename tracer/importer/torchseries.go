package importer

import (
	"fmt"
	"slices"

	"github.com/gpumem/gpumem/tracer/record"
)

// torchEvent is one change of a device's accounts.
type torchEvent struct {
	micros   float64
	device   *torchDevice
	live     float64 // bytes handed out, negative when given back
	reserved float64 // bytes taken from the driver
	count    float64
}

// series makes samples of the traces, one list of events a device: the state
// after each event, told backward from the state at the end, because the ring
// begins somewhere in the life of the program.
func (r *torchReader) series(traces []value) {
	var events []torchEvent
	for i, trace := range traces[:min(len(traces), maxDevices)] {
		list := r.list(trace)
		if len(list) == 0 {
			continue
		}
		d := r.device(uint64(i))
		for _, e := range list {
			if ev, ok := r.event(e, d); ok {
				d.events++
				events = append(events, ev)
			}
		}
	}
	slices.SortStableFunc(events, func(a, b torchEvent) int {
		switch {
		case a.micros < b.micros:
			return -1
		case a.micros > b.micros:
			return 1
		}
		return 0
	})
	devices := r.sorted()
	t := newTorchTable(devices)
	if len(events) == 0 {
		t.row()
		for _, d := range devices {
			t.state(d, d.live, d.live+d.idle, d.liveCount)
		}
		r.run.Samples = t.samples()
		return
	}
	r.replay(t, devices, events)
}

// event reads one dict of a trace. free_requested is only the wish of a
// stream; what it frees is free when free_completed says so.
func (r *torchReader) event(e value, d *torchDevice) (torchEvent, bool) {
	action, _ := r.get(e, "action")
	size := r.count(e, "size")
	ev := torchEvent{micros: r.count(e, "time_us"), device: d}
	switch r.string(action) {
	case "alloc":
		ev.live, ev.count = size, 1
	case "free_completed", "free":
		ev.live, ev.count = -size, -1
	case "segment_alloc", "segment_map":
		ev.reserved = size
	case "segment_free", "segment_unmap":
		ev.reserved = -size
	case "oom":
		r.run.Events = append(r.run.Events, record.Event{Kind: record.KindEvent, Name: "oom",
			Text: fmt.Sprintf("an allocation of %.0f bytes failed with %.0f bytes free on the device", size, r.count(e, "device_free"))})
		return ev, false
	default:
		return ev, false
	}
	return ev, size > 0
}

// torchState is a device's accounts at one event.
type torchState struct{ live, reserved, count float64 }

func (r *torchReader) replay(t *torchTable, devices []*torchDevice, events []torchEvent) {
	now := make(map[*torchDevice]*torchState, len(devices))
	for _, d := range devices {
		now[d] = &torchState{d.live, d.live + d.idle, d.liveCount}
	}
	for _, e := range events { // back to the state before the first
		s := now[e.device]
		s.live, s.reserved, s.count = s.live-e.live, s.reserved-e.reserved, s.count-e.count
	}
	bad := 0
	for i, e := range events {
		s := now[e.device]
		s.live, s.reserved, s.count = s.live+e.live, s.reserved+e.reserved, s.count+e.count
		if i+1 < len(events) && events[i+1].micros == e.micros {
			continue // one row a moment
		}
		t.row()
		if events[0].micros > 0 {
			t.set(record.ColTime, (e.micros-events[0].micros)/1000)
		}
		for _, d := range devices {
			s := now[d]
			if s.live < 0 || s.reserved < s.live || s.count < 0 {
				bad++
				continue
			}
			t.state(d, s.live, s.reserved, s.count)
		}
	}
	if bad > 0 {
		note(r.run, "%d states of the events do not fit the segments and count as unknown", bad)
	}
	if events[0].micros == 0 {
		note(r.run, "the events have no times: growth a second is unknown")
	}
	r.run.Samples = t.samples()
}

// torchTable has the accounts' columns, one set a device where there are
// several.
type torchTable struct {
	*table
	suffix map[*torchDevice]string
}

func newTorchTable(devices []*torchDevice) *torchTable {
	t := &torchTable{suffix: map[*torchDevice]string{}}
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

func (t *torchTable) state(d *torchDevice, live, reserved, count float64) {
	s := t.suffix[d]
	t.set(record.ColLive+s, live)
	t.set(record.ColIdle+s, reserved-live)
	t.set(record.ColLiveCount+s, count)
}
