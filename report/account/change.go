package account

import "math"

// Change is by how much each account of a process moved between two of its rows,
// in bytes: the last row less the first, no fit. NaN is unknown.
//
// The parts sum exactly to the whole: Live, Idle and Untracked to Device; Device
// and Host to Footprint where the device's memory is part of it, and to nothing
// else where it is not.
type Change struct {
	First, Last int // rows
	Row
	Footprint float64
}

// Between is the change from the first row to the last one of a span, both
// included, in which everything that is ever told is known; false where there are
// no two such rows.
func (l *Ledger) Between(from, to int) (Change, bool) {
	for from <= to && !l.known(from) {
		from++
	}
	for to > from && !l.known(to) {
		to--
	}
	if from >= to {
		return Change{}, false
	}
	c := Change{First: from, Last: to}
	for i, into := range c.parts() {
		*into = math.NaN()
		if v := l.series()[i]; v != nil {
			*into = v[to] - v[from]
		}
	}
	return c, true
}

// Held is what each account held at a row, as a change from nothing; false where
// something that is ever told is not known there.
func (l *Ledger) Held(row int) (Change, bool) {
	if !l.known(row) {
		return Change{}, false
	}
	c := Change{First: row, Last: row}
	for i, into := range c.parts() {
		*into = math.NaN()
		if v := l.series()[i]; v != nil {
			*into = v[row]
		}
	}
	return c, true
}

// series are what a change has, in the order of its parts.
func (l *Ledger) series() [6][]float64 {
	return [...][]float64{l.Device, l.Live, l.Idle, l.Untracked, l.Host, l.FootprintBytes}
}

func (c *Change) parts() [6]*float64 {
	return [...]*float64{&c.Device, &c.Live, &c.Idle, &c.Untracked, &c.Host, &c.Footprint}
}

// known reports whether a row has everything that is ever told, and that is something.
func (l *Ledger) known(row int) bool {
	any := false
	for _, v := range l.series() {
		if v != nil && v[row] != v[row] {
			return false
		}
		any = any || v != nil
	}
	return any
}

// Measured is the change of what was read of the process as a whole, and false
// where nothing was: the footprint, and the device's bytes where these are not
// part of it. All accounts sum to it.
func (l *Ledger) Measured(c Change) (float64, bool) {
	device, host := c.Device, c.Footprint
	if device != device { // no driver's counter: what the allocator told is all there is
		device = zeroed(c.Live) + zeroed(c.Idle)
		if c.Live != c.Live && c.Idle != c.Idle {
			device = math.NaN()
		}
	}
	switch {
	case host != host:
		return device, device == device
	case l.Unified, device != device:
		return host, true
	}
	return device + host, true
}

// zeroed is a part of a sum: an unknown one adds nothing.
func zeroed(v float64) float64 {
	if v != v {
		return 0
	}
	return v
}
