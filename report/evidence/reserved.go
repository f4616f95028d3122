package evidence

import (
	"fmt"
	"math"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/growth"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/tracer/record"
)

// An array that is made whole and written bit by bit, as a buffer of experiences is,
// takes memory of the machine with each page that is touched for the first time. All of
// it was asked for at once, and it ends where the array does. So does shared memory, and
// what is written to a mapped file.
const (
	reservesAnew = 1. / 8 // of the growth, at most, that the process reserves meanwhile
	headAndTail  = 1. / 4 // of the growth's rows, in which the reserved memory is compared
	heapKnownBy  = 1. / 3 // of the growth's time: the heap is read before, and again in the last third

	// What nobody can tell of a program whose heap is not read: where in the reserved memory
	// it writes. So that what an allocator reserves for its next blocks is not taken for an
	// array, more than that must be untouched, and a good part of what the program holds.
	leastUntouched = 16 * mib
	partUntouched  = 1. / 4
	stackReserved  = 8 * mib // for each thread, of which it touches little
	leftLeast      = 1. / 8  // of the growth, that must be left to fill
	besideLeast    = 1. / 32 // of the growth: so much more may be reserved beside it
)

// reserves is a process in view of what it has reserved.
type reserves struct{ *growth.Examined }

// findReserved is the finding about host memory that grows as the program touches what
// it had reserved before: it reserves no more, and so much was untouched. Where the heap is
// read it hands out no more. Nil of another growth.
func findReserved(of *growth.Examined) *finding.Finding {
	x := reserves{of}
	g := &x.Grow[series.Host]
	if !g.Growing() || x.Judged.Untimed {
		return nil
	}
	f := &finding.Finding{By: finding.ByObjects, Of: series.Host, Owner: finding.Nobody, Score: .9}
	if x.heapIsRead() {
		heap, untouched, still := x.heapBeyondTouched(g.From, reservesAnew*g.Amount())
		if !still {
			return nil
		}
		if untouched >= g.Amount() && x.reservesNothing(g.From, reservesAnew*g.Amount(), leastHeapReadings) {
			f.Why = fmt.Sprintf("%s: its heap hands out %s and no more, of which %s had not been touched",
				fillsWords, units.Bytes(heap), units.Bytes(untouched))
			return f
		}
	}
	why, left := x.fillsReserved()
	if f.Why = why; why == "" || left < leftLeast*g.Amount() || x.mayLeakBeside() {
		return nil
	}
	return f
}

// heapIsRead reports whether anybody reads the program's heap.
func (x reserves) heapIsRead() bool { return len(stat.Known(x.Judged.Cols[series.HeapAsRead])) > 0 }

const fillsWords = "host memory rises as the program fills what it had reserved before"

// fillsReserved says how much of what the program had reserved it fills, once it had grown
// by a little: it may reserve an array as it begins to write it; and how much is left.
// Empty where it reserves more as it grows.
func (x reserves) fillsReserved() (why string, left float64) {
	g := &x.Grow[series.Host]
	from := x.grownBy(reservesAnew*g.Amount(), g.From)
	reserved, untouched := x.reservedBeyondTouched(from)
	left = untouched - (1-reservesAnew)*g.Amount()
	anew := math.Max(stackReserved, reservesAnew*g.Amount()) // that it may have reserved since
	if untouched == 0 || left < -anew || !x.writesItself() ||
		!x.reservesNothing(from, reservesAnew*g.Amount(), 1) {
		return "", 0
	}
	return fmt.Sprintf("%s: of the %s that it reserves %s had not been touched%s", fillsWords,
		units.Bytes(reserved), units.Bytes(untouched), x.fullIn(left)), left
}

// mayLeakBeside reports whether the process reserves more than matters while it fills what it
// had reserved.
func (x reserves) mayLeakBeside() bool {
	g := &x.Grow[series.Host]
	from := x.grownBy(reservesAnew*g.Amount(), g.From)
	return !x.reservesNothing(from, math.Max(x.Judged.Delta(series.Host), besideLeast*g.Amount()), 1)
}

// grownBy is the row in which the host has grown by so much since another.
func (x reserves) grownBy(bytes float64, from int) int {
	held := x.Judged.Series[series.Host]
	for i := from; i < len(held); i++ {
		if held[i] >= held[from]+bytes {
			return i
		}
	}
	return from
}

// reservedBeyondTouched is what the process has reserved by a row, and how
// much of it, without the stacks of its threads, is not in memory by then; 0 where that is
// no more than allocators keep for their next blocks, or where nobody told.
func (x reserves) reservedBeyondTouched(from int) (reserved, untouched float64) {
	read, threads := x.Judged.Cols[record.ColReserved], x.Judged.Cols[record.ColThreads]
	held := x.Judged.Series[series.Host]
	for i := from; i < len(read); i++ {
		if read[i] != read[i] || held[i] != held[i] {
			continue
		}
		reserved, untouched = read[i], read[i]-held[i]-stackReserved
		if threads != nil && threads[i] == threads[i] {
			untouched -= stackReserved * (threads[i] - 1)
		}
		if untouched < math.Max(leastUntouched, partUntouched*held[i]) {
			return reserved, 0
		}
		return reserved, untouched
	}
	return 0, 0
}

// writesItself reports whether nothing speaks for the driver's writing what the process had
// reserved: pinned memory is none of it, and drivers reserve for their records of handles.
func (x reserves) writesItself() bool {
	if !x.UsesDevice() {
		return true
	}
	g := &x.Grow[series.Host]
	pinned := x.Judged.Rise(record.ColPinnedBytes, g.From)
	return pinned <= reservesAnew*g.Amount() && Toucher(&x.Examined.Process) != finding.TheDriver &&
		!x.Records.Hold(g.Amount()) &&
		!x.Grow[series.Handles].Growing()
}

// fullIn says when so much of reserved memory is in use at the rate of the growth; empty
// where none is left.
func (x reserves) fullIn(left float64) string {
	rate, _ := x.Judged.Rates(&x.Grow[series.Host])
	if rate == nil || rate.Value <= 0 || left <= 0 {
		return ""
	}
	return fmt.Sprintf("; at this rate all of it is in use %s after the end of this recording",
		units.Span(left/rate.Value))
}

// reservesNothing reports whether the process reserves no more than so much from a row
// on: by the least that it had in the first rows and in the last, as blocks come and go,
// of which at least so many tell.
func (x reserves) reservesNothing(from int, most float64, least int) bool {
	v := stat.Known(x.Judged.Cols[record.ColReserved][min(from, len(x.Judged.Cols[record.ColReserved])):])
	n := int(headAndTail * float64(len(v)))
	if n < least {
		return false
	}
	return stat.Quantile(v[len(v)-n:], 0)-stat.Quantile(v[:n], 0) <= most
}

// heapBeyondTouched is what the heap hands out when the growth begins, and how much of it
// is not in memory by then; ok is false where it was not read early and late in the
// growth, or hands out more by the end than so much.
func (x reserves) heapBeyondTouched(from int, most float64) (heap, untouched float64, ok bool) {
	clock, read, held := x.Judged.Clock, x.Judged.Cols[series.HeapAsRead], x.Judged.Series[series.Host]
	first, last := -1, -1
	for i := from; i < len(read); i++ {
		if read[i] == read[i] && held[i] == held[i] {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first < 0 || len(clock) == 0 {
		return 0, 0, false
	}
	span := clock[len(clock)-1] - clock[from]
	if clock[first]-clock[from] > heapKnownBy*span || clock[len(clock)-1]-clock[last] > heapKnownBy*span {
		return 0, 0, false
	}
	heap = read[first]
	return heap, math.Max(heap-held[first], 0), read[last]-heap <= most
}

// FillsMore says so of a process whose host grows: its reserved memory fills up, and may go on
// as more is reserved. Empty of another, and where the heap tells more.
func FillsMore(of *growth.Examined) string {
	x, g := reserves{of}, &of.Grow[series.Host]
	if x.heapIsRead() {
		return ""
	}
	why, left := x.fillsReserved()
	switch {
	case why == "":
		return ""
	case left < leftLeast*g.Amount():
		return why + "; a longer run tells whether it then reserves more"
	case x.mayLeakBeside():
		return why + "; a longer run tells whether what it reserved meanwhile goes on"
	}
	return ""
}
