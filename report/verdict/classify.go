package verdict

import (
	"math"

	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// handleCost is the most host or driver bytes one live handle is believed to
// cost beside what it stores.
const handleCost = 64 * kib

// handleLeast is what a live handle is taken to hold when live bytes do not
// show it.
const handleLeast = 4 * kib

// classify chooses the account that explains the growth.
func (s *subject) classify() {
	a := s.amounts()
	s.records = s.findRecords()
	s.class, s.primary = s.decide(a)
	larger := s.eclipsed(a)
	switch {
	case larger < keys:
		s.class, s.primary = Undecided, keys
		s.why = accountWords[larger] + " rose by far more than what surely grows, and whether it goes on is open"
	case s.class != Undecided:
		s.restsOn = ByTrend
		s.attribute(a)
		s.raw = s.trendRaw()
	case s.primary == keyDevice:
		s.lacking, s.why = true, s.ownerless()
	default:
		s.quiet()
	}
}

// decide names the class and the account of growing amounts; Undecided and
// keys when nothing grows.
func (s *subject) decide(a [keys]float64) (Class, key) {
	switch {
	case s.leaks(a):
		if a[keyLive] == 0 {
			return AppLeak, keyCount
		}
		return AppLeak, keyLive
	case a[keyIdle] > 0 && a[keyIdle] >= a[keyUntracked] && a[keyIdle] >= a[keyHost]:
		return PoolGrowth, keyIdle
	case a[keyUntracked] > 0 && a[keyUntracked] >= driverShare*a[keyHost]:
		return DriverGrowth, keyUntracked
	case a[keyHost] > 0 && s.grow[keyHost].Growing():
		return s.hostClass(a), keyHost
	case a[keyHost] > 0:
		return s.hostClass(a), keyHeap
	case a[keyHandles] > 0 && s.filling() == 0 && (!s.grow[keyDevice].Growing() || s.unasked()):
		return DriverGrowth, keyHandles
	case s.grow[keyDevice].Growing():
		return Undecided, keyDevice
	}
	return Undecided, keys
}

// eclipsed is the undecided account that rose by far more than the one that gave
// the verdict: what surely grows is then not the answer. It is keys without one.
func (s *subject) eclipsed(a [keys]float64) key {
	if s.class == Undecided || s.primary.counts() || s.grow[s.primary].Loaded {
		return keys
	}
	for _, k := range [...]key{keyLive, keyIdle, keyUntracked} {
		g := &s.grow[k]
		if g.Known && g.Shape == trend.ShapeUndecided && !g.Loaded && g.Low*g.Span > eclipse*a[s.primary] {
			return k
		}
	}
	return keys
}

// eclipse is how many times what surely grows another account must have risen by,
// at least, to leave it open whose growth it is.
const eclipse = 4

// ownerless is the reason of an undecided: device memory grows, and nothing
// tells who holds it.
func (s *subject) ownerless() string {
	if asked := s.advance(record.ColDriverAllocBytes); asked >= s.size()/2 {
		return "device memory grows by what the driver was asked for, but no allocator counters tell whether the program uses it or keeps it in a pool"
	}
	return "device memory grows, but no allocator counters tell whether the program, its pool or the driver holds it"
}

// unasked reports whether what the driver was asked for is known to have risen by
// less than half of what the device memory of unknown owner grew by.
func (s *subject) unasked() bool {
	g := &s.grow[keyDevice]
	return s.rise(record.ColDriverAllocBytes, g.From) < g.Amount()/2
}

// driverShare is the part of host growth that growing untracked bytes must
// reach to claim it.
const driverShare = .1

// amounts is the growth of each key that grows, and 0 for the others. Idle or
// untracked bytes that only changed hands are no growth: the device holds
// as much as before.
func (s *subject) amounts() [keys]float64 {
	var a [keys]float64
	for k := key(0); k < keys; k++ {
		if s.grow[k].Growing() {
			a[k] = s.grow[k].Amount()
		}
	}
	freed := s.shrinks(keyLive)
	if freed > a[keyIdle]/2 {
		a[keyIdle] = 0
	}
	if freed+s.shrinks(keyIdle) > a[keyUntracked]/2 {
		a[keyUntracked] = 0
	}
	// The heap is part of the host: where it grows, the host does, unless
	// the host is known not to.
	if h := s.grow[keyHost]; a[keyHost] == 0 && a[keyHeap] > 0 && h.Known && h.Amount() > a[keyHeap]/2 {
		a[keyHost] = a[keyHeap]
	}
	return a
}

// surelyFalls is how many errors below 0 a slope is sure to fall.
const surelyFalls = 4

// shrinks is by how much a key surely falls, 0 when it does not.
func (s *subject) shrinks(k key) float64 {
	if g := s.grow[k]; g.Known && g.T < -surelyFalls {
		return -g.Amount()
	}
	return 0
}

// rivalFactor is how much more another account must grow to be the answer
// although the program's own bytes grow too.
const rivalFactor = 1.4

// leaks: the program holds more and more.
func (s *subject) leaks(a [keys]float64) bool {
	if a[keyLive] == 0 && a[keyCount] == 0 {
		return false
	}
	own := a[keyLive]
	if own == 0 {
		own = math.Max(s.grow[keyLive].Amount(), handleLeast*a[keyCount])
	}
	if s.hostOfHandles(a) {
		own += a[keyHost]
	} else if a[keyHost] > rivalFactor*own {
		return false
	}
	if math.Max(a[keyIdle], a[keyUntracked]) > rivalFactor*own {
		return false
	}
	return true
}

// hostOfHandles: host bytes that rise with the live handles and cost no more
// than handles do.
func (s *subject) hostOfHandles(a [keys]float64) bool {
	return a[keyHost] > 0 && (a[keyHost] <= handleCost*a[keyCount] || a[keyHost] <= 2*a[keyLive])
}

// hostClass tells whose host growth is: the program's when the pinned memory
// that it asked for explains it, or its heap that grows with it; the driver's
// when its records of handles explain it, or the heap is known not to grow.
func (s *subject) hostClass(a [keys]float64) Class {
	if s.isPinned() {
		return HostGrowth
	}
	h := s.grow[keyHeap]
	switch s.toucher() {
	case "driver": // also when it allocates from the program's heap
		return DriverGrowth
	case "program":
		return HostGrowth
	}
	switch {
	case s.records.hold(a[keyHost]):
		return DriverGrowth
	case s.led.series[keyHeap] == nil || !h.Known:
		return HostGrowth
	case a[keyHeap] >= a[keyHost]/2:
		return HostGrowth
	case h.Amount() < a[keyHost]/2 && h.Upper < a[keyHost]/2:
		return DriverGrowth
	}
	return HostGrowth
}

// isPinned: what the program asked the driver to pin rose by half of what the
// host memory grew by, or more. The driver maps such memory, so that no heap
// and no first touch show it.
func (s *subject) isPinned() bool {
	h := s.grow[keyHost]
	return h.Growing() && s.rise(record.ColPinnedBytes, h.From) >= h.Amount()/2
}

// quiet: nothing grows; none when every account is known to be still.
func (s *subject) quiet() {
	seen, open := 0, 0
	for _, k := range [...]key{keyLive, keyCount, keyIdle, keyUntracked, keyHost, keyDevice} {
		g := s.grow[k]
		if s.led.series[k] == nil {
			continue
		}
		if !g.Known {
			open++
			continue
		}
		seen++
		if g.Shape == trend.ShapeUndecided {
			open++
		}
	}
	if seen == 0 || open > 0 {
		s.class = Undecided
		switch n := len(s.led.clock); {
		case seen+open == 0:
			s.lacking, s.why = true, "no account was recorded: the samples have no column of one, or no cell that can be true"
		case n > 1 && !(s.led.clock[n-1] > s.led.clock[0]):
			s.lacking, s.why = true, "all samples have the same time"
		}
		return
	}
	if s.filling() > 0 {
		s.class, s.why = Undecided, s.fillingWords()
		return
	}
	s.class = None
	s.raw = s.quietRaw()
}

// trendRaw is the score of a growth: the decades of evidence that something
// grows times the part of the bootstrap's draws that give the same class.
func (s *subject) trendRaw() float64 {
	return s.grow[s.primary].Evidence * s.agreement
}

// quietRaw is the score of none: how far below what would matter the upper
// bounds of growth stay.
func (s *subject) quietRaw() float64 {
	worst := 0.0
	for _, k := range [...]key{keyLive, keyCount, keyIdle, keyUntracked, keyHost, keyDevice} {
		if g := s.grow[k]; g.Known && g.Limit > 0 {
			worst = math.Max(worst, g.Upper/g.Limit)
		}
	}
	return 1 - stat.Clamp(worst, 0, 1)
}
