package record

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"sort"
	"time"
)

const (
	// fullRate is how much of the end of a run is left as it was recorded.
	fullRate = 10 * time.Minute
	// aroundMark is how much around a phase or a receipt is left as it was
	// recorded: leftovers are read there.
	beforeMark = 300 * time.Millisecond
	afterMark  = 500 * time.Millisecond
	// peakLevels is how many levels the slots in which the least and the greatest
	// values are kept lie above those of the rows.
	peakLevels = 5
	// leastSlots is into how many slots the past is divided at least. Where that is
	// too much, processes that came and went are left out.
	leastSlots = 256
	// maxKept bounds the processes that a thinner knows at once.
	maxKept = 20_000
	// scarcest is the level of the last processes that are left out; noScarcity is
	// that of the processes that stay.
	scarcest   = 20
	noScarcity = scarcest + 1
)

// errStopped ends a thinning that is not wanted any more.
var errStopped = errors.New("stopped")

// thinner writes a samples.csv anew, with less of its past. It leaves the rows of
// the last ten minutes as they are, or as many of the last as fill two thirds of
// the room. Of the past it keeps, of each process:
//
//   - the first row of each slot, its first and its last row, so that the rows
//     stay what they were, samples at even distances;
//   - the rows around phases and receipts;
//   - the rows with the least and the greatest value of each of peakColumns, in
//     every 32 slots. They are marked in ColThinned, and none of the former.
//
// Where short-lived processes alone are too much, some of them are left out whole.
type thinner struct {
	in     io.ReaderAt
	size   int64 // bytes of whole lines
	room   int64 // bytes that should be left
	last   int64 // time of the last row, in microseconds
	marks  []int64
	stop   func() bool
	read   func(line []byte, row *keptRow) bool
	roles  keepRoles // of samples
	header int64     // bytes of it

	cut      int64          // what is from there on stays, in microseconds
	near     bool           // rows around marks stay, and those that stay of themselves
	level    int            // of the slots; at first, of the last time
	scarcity int            // of the processes; at first, of the last time
	recent   map[int64]bool // processes with rows that stay
	main     int64          // the process of the first row
	states   map[int64]*keptProcess
	gone     func(*keptProcess) // hears of a process that is forgotten

	extremes, lasts []int64 // offsets of rows that stay, ascending
	dropped         int64   // rows
}

// keptProcess is what a pass knows of a process so far.
type keptProcess struct {
	pid, first, prev, any int64 // prev is of the last row that is no extreme one
	seen                  bool  // prev is known
	lastAt                int64 // offset of the last row
	peaks                 [len(peakColumns)]peak
}

// peak is the least and the greatest value of a column, and the offsets of their
// rows.
type peak struct {
	known               bool
	least, most         int64
	leastAt, greatestAt int64
}

// plan finds out what is to stay.
func (t *thinner) plan() error {
	line, err := bufio.NewReaderSize(io.NewSectionReader(t.in, 0, t.size), maxLine).ReadSlice('\n')
	if err != nil {
		return fmt.Errorf("header: %w", err)
	}
	ok := false
	if t.roles, ok = rolesOf(line); !ok {
		return errors.New("no times in the header")
	}
	t.header = int64(len(line))
	t.read = func(line []byte, row *keptRow) bool { return row.read(line, &t.roles) }
	if err := t.choosePast(); err != nil {
		return err
	}
	return t.peaks()
}

// choosePast finds out how much of the past is to stay.
func (t *thinner) choosePast() error {
	kept, err := t.tail()
	if err != nil {
		return err
	}
	return t.weigh(t.room - kept)
}

// tail finds what of the end stays, and how many bytes that are.
func (t *thinner) tail() (kept int64, err error) {
	from := max(t.header, t.size-t.room*2/3)
	t.cut, t.recent = t.last-fullRate.Microseconds(), map[int64]bool{}
	partial, first := from > t.header, true
	err = t.lines(from, func(_ int64, line []byte) {
		var row keptRow
		if partial { // from may be inside a line
			partial = false
			return
		}
		if !t.read(line, &row) {
			return
		}
		if first && from > t.header {
			t.cut = max(t.cut, row.micros)
		}
		first = false
		if row.micros >= t.cut {
			t.recent[row.pid] = true
			kept += int64(len(line))
		}
	})
	return kept, err
}

// pastRow is called with a row of the past. s is what was known of its process before
// the row, level the one from which on the row does not stay.
type pastRow func(at int64, line []byte, row *keptRow, s *keptProcess, level int)

// rows calls past with the rows of the past, and later, if any, with the others.
func (t *thinner) rows(past pastRow, later func(line []byte, row *keptRow)) error {
	t.states = map[int64]*keptProcess{}
	begun := false
	err := t.lines(t.header, func(at int64, line []byte) {
		var row keptRow
		if !t.read(line, &row) {
			return
		}
		if !begun {
			begun, t.main = true, row.pid
		}
		if row.micros >= t.cut {
			if later != nil {
				later(line, &row)
			}
			return
		}
		s := t.state(&row)
		level := maxLevel + 1
		if s.seen {
			level = parted(s.prev, row.micros)
		}
		past(at, line, &row, s, level)
		s.any, s.lastAt = row.micros, at
		if !row.extreme {
			s.prev, s.seen = row.micros, true
		}
	})
	for _, s := range t.states {
		t.forget(s)
	}
	return err
}

// state is what is known of the process of a row.
func (t *thinner) state(row *keptRow) *keptProcess {
	if s := t.states[row.pid]; s != nil {
		return s
	}
	if len(t.states) >= maxKept {
		t.forgetHalf()
	}
	s := &keptProcess{pid: row.pid, first: row.micros, any: row.micros}
	t.states[row.pid] = s
	return s
}

// forgetHalf forgets the processes that were seen longest ago.
func (t *thinner) forgetHalf() {
	times := make([]int64, 0, len(t.states))
	for _, s := range t.states {
		times = append(times, s.any)
	}
	slices.Sort(times)
	for pid, s := range t.states {
		if s.any <= times[len(times)/2] {
			t.forget(s)
			delete(t.states, pid)
		}
	}
}

func (t *thinner) forget(s *keptProcess) {
	if t.gone != nil {
		t.gone(s)
	}
}

// scarcityOf says up to which scarcity a row of a process stays.
func (t *thinner) scarcityOf(s *keptProcess, micros int64) int {
	if s.pid == t.main || t.recent[s.pid] || micros-s.first >= fullRate.Microseconds() {
		return noScarcity
	}
	return min(bits.TrailingZeros64(scatter(uint64(s.pid))), scarcest)
}

// weigh chooses the level and the scarcity with which the past fits into room.
func (t *thinner) weigh(room int64) error {
	var weights [maxLevel + 2][noScarcity + 1]int64
	begin, marked := t.last, int64(0)
	t.near = true
	err := t.rows(func(_ int64, line []byte, row *keptRow, s *keptProcess, level int) {
		begin = min(begin, row.micros)
		if row.extreme {
			return
		}
		n := int64(len(line))
		if t.stays(row) {
			marked += n
		}
		scarcity := t.scarcityOf(s, row.micros)
		weights[level][scarcity] += n
		if !s.seen && !t.recent[s.pid] {
			weights[level][scarcity] += n // its last row stays as well
		}
	}, nil)
	t.near = marked <= room/2
	if t.near {
		room -= marked
	}
	t.choose(weights[:], room*3/4, (t.cut-begin)/leastSlots)
	return err
}

// choose takes the lowest level that fits, else the one with slots of the width
// wide, in microseconds, and the lowest scarcity that fits. Neither is lower than at
// the last time: the older past would be thinner than the younger.
func (t *thinner) choose(weights [][noScarcity + 1]int64, room, wide int64) {
	fits := func(level, scarcity int) bool {
		sum := int64(0)
		for _, w := range weights[level+1:] {
			for _, n := range w[scarcity:] {
				sum += n
			}
		}
		t.level, t.scarcity = level, scarcity
		return sum <= room
	}
	leastLevel, leastScarcity := max(t.level, 1), t.scarcity
	widest := max(leastLevel, min(bits.Len64(uint64(max(wide/slotMicros, 1))), maxLevel))
	for level := leastLevel; level <= widest; level++ {
		if fits(level, leastScarcity) {
			return
		}
	}
	for scarcity := leastScarcity; scarcity <= scarcest; scarcity++ {
		if fits(widest, scarcity) {
			return
		}
	}
	for level := widest + 1; level <= maxLevel && !fits(level, noScarcity); level++ {
	}
}

// stays reports whether a row is not thinned.
func (t *thinner) stays(row *keptRow) bool { return t.isNear(row.micros) || t.near && row.stays }

// isNear reports whether a time is around a mark.
func (t *thinner) isNear(micros int64) bool {
	i := sort.Search(len(t.marks), func(i int) bool { return t.marks[i] >= micros-afterMark.Microseconds() })
	return t.near && i < len(t.marks) && t.marks[i] <= micros+beforeMark.Microseconds()
}

// peaks finds the rows with the least and the greatest values, and the last ones.
func (t *thinner) peaks() error {
	t.gone = func(s *keptProcess) {
		t.notePeaks(s)
		if !t.recent[s.pid] && t.scarcityOf(s, s.any) >= t.scarcity {
			t.lasts = append(t.lasts, s.lastAt)
		}
	}
	err := t.rows(func(at int64, _ []byte, row *keptRow, s *keptProcess, _ int) {
		if parted(s.any, row.micros) > t.level+peakLevels {
			t.notePeaks(s)
		}
		if t.scarcityOf(s, row.micros) < t.scarcity {
			return
		}
		for k := range s.peaks {
			if row.known[k] {
				s.peaks[k].take(row.value[k], at)
			}
		}
	}, nil)
	t.gone = nil
	slices.Sort(t.lasts)
	slices.Sort(t.extremes)
	t.extremes = slices.Compact(t.extremes)
	return err
}

func (p *peak) take(value, at int64) {
	if !p.known || value < p.least {
		p.least, p.leastAt = value, at
	}
	if !p.known || value > p.most {
		p.most, p.greatestAt = value, at
	}
	p.known = true
}

// notePeaks keeps the peaks of a process so far, and begins new ones.
func (t *thinner) notePeaks(s *keptProcess) {
	for k := range s.peaks {
		if p := &s.peaks[k]; p.known && p.least != p.most {
			t.extremes = append(t.extremes, p.leastAt, p.greatestAt)
		}
		s.peaks[k] = peak{}
	}
}

// lines calls do with the whole lines from an offset on, line end included.
func (t *thinner) lines(from int64, do func(at int64, line []byte)) error {
	r := bufio.NewReaderSize(io.NewSectionReader(t.in, from, t.size-from), maxLine)
	for n := 0; ; n++ {
		line, err := r.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case n&4095 == 4095 && t.stop():
			return errStopped
		}
		do(from, line)
		from += int64(len(line))
	}
}
