package account

import (
	"maps"
	"math"
	"slices"

	"github.com/gpumem/gpumem/tracer/record"
)

// Latest keeps the newest cells of one process, of all its devices together and of
// each, and charges them. The zero value knows nothing. A Latest is for one
// goroutine.
type Latest struct {
	all     slot
	devices map[int]*slot
}

// slot is what is known of a process, or of its part on one device.
type slot struct {
	tells Tells
	cells Cells
}

// Take keeps a cell; the columns of no account are left alone.
func (l *Latest) Take(c record.Cell) {
	base, device, of := record.SplitDevice(c.Column)
	i := slices.Index(columnNames[:], base)
	if i < 0 {
		return
	}
	s := &l.all
	if of {
		s = l.device(device)
	}
	*s.tells.told()[i] = true
	*s.cells.values()[i] = float64(c.Value)
}

func (l *Latest) device(n int) *slot {
	s := l.devices[n]
	if s == nil {
		if l.devices == nil {
			l.devices = map[int]*slot{}
		}
		s = &slot{}
		l.devices[n] = s
	}
	return s
}

// Row is what the process holds now, on all devices together.
func (l *Latest) Row(unified bool) Row {
	s := l.completed()
	return s.charge(unified)
}

// Tells is what the process tells of itself, on all devices together.
func (l *Latest) Tells(unified bool) Tells {
	t := l.completed().tells
	t.Unified = unified
	return t
}

// Devices are the devices that cells came from, in order.
func (l *Latest) Devices() []int { return slices.Sorted(maps.Keys(l.devices)) }

// Device is what the process holds now on a device, its host memory aside.
func (l *Latest) Device(n int) Row {
	s := l.devices[n]
	if s == nil {
		s = &slot{}
	}
	return s.charge(false)
}

// Split reports whether all that is told of the process's device memory is told by
// device, so that the devices' rows add up to it.
func (l *Latest) Split() bool {
	if t := l.completed().tells; t.Program && !t.Live {
		return false // that is known of all devices together only
	}
	for i := range deviceColumns {
		if *l.all.tells.told()[i] && !l.onDevices(i) {
			return false
		}
	}
	return len(l.devices) > 0
}

func (l *Latest) onDevices(i int) bool {
	for _, d := range l.devices {
		if *d.tells.told()[i] {
			return true
		}
	}
	return false
}

// completed has for each column of a device that no row has as a whole the sum of
// its parts.
func (l *Latest) completed() slot {
	s := l.all
	for i := range deviceColumns {
		told, cell := s.tells.told()[i], s.cells.values()[i]
		if *told || !l.onDevices(i) {
			continue
		}
		*told, *cell = true, 0
		for _, d := range l.devices {
			if *d.tells.told()[i] {
				*cell += *d.cells.values()[i]
			}
		}
	}
	return s
}

// charge charges what is known.
func (s *slot) charge(unified bool) Row {
	t, c := s.tells, s.cells
	t.Unified = unified
	for i, told := range t.told() {
		if !*told {
			*c.values()[i] = math.NaN()
		}
	}
	return t.Charge(c)
}
