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

// findTrend is what the trends say: the account that explains the growth, with the
// shares of all that grow; that nothing grows; or why neither is known.
func (x *examined) findTrend() (finding, *shares) {
	a := x.grow.amounts()
	k, whose := x.blame(a)
	if larger := x.grow.eclipsed(a, k, whose); larger < keys {
		why := " rose by far more than what surely grows, and whether it goes on is open"
		return finding{of: keys, why: accountWords[larger] + why}, nil
	}
	switch {
	case whose != unknown:
		sh := x.shareOut(a, k)
		return x.grown(k, whose, sh.agreement), sh
	case k == keyDevice:
		return finding{of: k, size: x.grow[k].Amount(), lacking: true, why: x.ownerlessWords()}, nil
	}
	return x.quiet(), nil
}

// grown is the finding of a growth. Its score is the decades of evidence that
// something grows times the part of the bootstrap's draws that blame the same owner.
func (x *examined) grown(k key, whose owner, agreement float64) finding {
	g := &x.grow[k]
	return finding{by: ByTrend, of: k, owner: whose, score: g.Evidence * agreement, size: g.Amount()}
}

// blame names the account of growing amounts and its owner; keys when nothing
// grows, and an unknown owner where none is told.
func (x *examined) blame(a [keys]float64) (key, owner) {
	switch {
	case x.grow.leaks(a):
		if a[keyLive] == 0 {
			return keyCount, theProgram
		}
		return keyLive, theProgram
	case a[keyIdle] > 0 && a[keyIdle] >= a[keyUntracked] && a[keyIdle] >= a[keyHost]:
		return keyIdle, thePool
	case a[keyUntracked] > 0 && a[keyUntracked] >= driverShare*a[keyHost]:
		return keyUntracked, theDriver
	case x.ownerless(a):
		return keyDevice, unknown
	case a[keyHost] > 0 && x.grow[keyHost].Growing():
		return keyHost, x.hostOwner(a)
	case a[keyHost] > 0:
		return keyHeap, x.hostOwner(a)
	case a[keyHandles] > 0 && x.handlesGrow():
		return keyHandles, theDriver
	case x.grow[keyDevice].Growing():
		return keyDevice, unknown
	}
	return keys, unknown
}

// handlesGrow reports whether a growing number of handles tells something: it is no
// cache that fills, and no device memory of unknown owner grows that somebody asked for.
func (x *examined) handlesGrow() bool {
	return filling(x.kind, &x.grow[keyHandles]) == 0 && (!x.grow[keyDevice].Growing() || x.unasked())
}

// ownerless: device memory of unknown owner grows by more than the host, whose
// growth is then not the answer.
func (x *examined) ownerless(a [keys]float64) bool {
	return a[keyDevice] > 0 && a[keyDevice] >= a[keyHost] && !(a[keyHandles] > 0 && x.handlesGrow())
}

// ownerlessWords are the reason of an undecided: device memory grows, and nothing
// tells who holds it.
func (x *examined) ownerlessWords() string {
	if g := &x.grow[keyDevice]; x.judged.rise(record.ColDriverAllocBytes, g.From) >= g.Amount()/2 {
		return "device memory grows by what the driver was asked for, " +
			"but no allocator counters tell whether the program uses it or keeps it in a pool"
	}
	return "device memory grows, " +
		"but no allocator counters tell whether the program, its pool or the driver holds it"
}

// unasked reports whether what the driver was asked for is known to have risen by
// less than half of what the device memory of unknown owner grew by.
func (x *examined) unasked() bool {
	g := &x.grow[keyDevice]
	return x.judged.rise(record.ColDriverAllocBytes, g.From) < g.Amount()/2
}

// driverShare is the part of host growth that growing untracked bytes must
// reach to claim it.
const driverShare = .1

// rivalFactor is how much more another account must grow to be the answer
// although the program's own bytes grow too.
const rivalFactor = 1.4

// leaks: the program holds more and more.
func (g *growths) leaks(a [keys]float64) bool {
	if a[keyLive] == 0 && a[keyCount] == 0 {
		return false
	}
	own := a[keyLive]
	if own == 0 {
		own = math.Max(g[keyLive].Amount(), handleLeast*a[keyCount])
	}
	if hostOfHandles(a) {
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
func hostOfHandles(a [keys]float64) bool {
	return a[keyHost] > 0 && (a[keyHost] <= handleCost*a[keyCount] || a[keyHost] <= 2*a[keyLive])
}

// hostOwner tells whose host growth is: the host's own when the pinned memory that
// the program asked for explains it, or its heap that grows with it; the driver's
// when its records of handles explain it, or the heap is known not to grow.
func (x *examined) hostOwner(a [keys]float64) owner {
	if x.isPinned() {
		return theHost
	}
	if whose := x.toucher(); whose != unknown {
		return whose // also where a driver allocates from the program's heap
	}
	h := x.grow[keyHeap]
	switch {
	case x.records.hold(a[keyHost]):
		return theDriver
	case x.judged.series[keyHeap] == nil || !h.Known:
		return theHost
	case a[keyHeap] >= a[keyHost]/2:
		return theHost
	case h.Amount() < a[keyHost]/2 && h.Upper < a[keyHost]/2:
		return theDriver
	}
	return theHost
}

// isPinned: what the program asked the driver to pin rose by half of what the
// host memory grew by, or more. The driver maps such memory, so that no heap
// and no first touch show it.
func (x *examined) isPinned() bool {
	h := x.grow[keyHost]
	return h.Growing() && x.judged.rise(record.ColPinnedBytes, h.From) >= h.Amount()/2
}

// quiet is the finding where nothing grows: nobody's when every account is known
// to be still. Its score is how far below what would matter the upper bounds of
// growth stay.
func (x *examined) quiet() finding {
	f := finding{of: keys}
	seen, open, worst := 0, 0, 0.
	for _, k := range testedKeys {
		g := &x.grow[k]
		if g.Known && g.Limit > 0 {
			worst = math.Max(worst, g.Upper/g.Limit)
		}
		switch {
		case x.judged.series[k] == nil:
		case !g.Known:
			open++
		default:
			seen++
			if g.Shape == trend.ShapeUndecided {
				open++
			}
		}
	}
	clock := x.judged.clock
	n, fills := len(clock), filling(x.kind, &x.grow[keyHandles])
	switch {
	case seen+open == 0:
		f.lacking, f.why = true,
			"no account was recorded: the samples have no column of one, or no cell that can be true"
	case seen == 0 || open > 0:
		if n > 1 && !(clock[n-1] > clock[0]) {
			f.lacking, f.why = true, "all samples have the same time"
		}
	case fills > 0:
		f.why = fillingWords(x.kind, fills)
	default:
		f.owner, f.score = nobody, 1-stat.Clamp(worst, 0, 1)
	}
	return f
}

// untouched is how much of the device memory that a program takes the footprint
// does not show: on unified memory pages count from their first use on, so what
// is left of the footprint beyond the device's bytes falls while these grow. What
// of the footprint is host memory is then unknown, and between nothing and all of
// it. 0 when the host account does not fall so.
func (x *examined) untouched() float64 {
	grows := x.grow[keyLive].Growing() || x.grow[keyIdle].Growing() || x.grow[keyUntracked].Growing()
	if !x.judged.unified() || !grows {
		return 0
	}
	if fell := x.grow.shrinks(keyHost); fell > x.grow[keyHost].Delta {
		return fell
	}
	return 0
}
