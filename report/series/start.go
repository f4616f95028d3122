package series

import (
	"github.com/gpumem/gpumem/tracer/record"
)

// A program that starts reads its code in: file pages and the heap grow
// together, until neither does. That is warm-up, however steady it looks.
const (
	StartFor   = 30.      // seconds from the first row on in which code is loaded
	startRise  = 4 * mib  // of file pages from one reading to the next
	startLeast = 16 * mib // of file pages in all, for a start that matters
	startRows  = 40       // rows that must be left for a trend
	StartAlive = 12.      // since its device came to life: libraries load what they need then

	importsIn  = 1. // seconds at least over which modules are counted
	importsFew = 8  // modules in them that a program at work may import as well
)

// afterStart leaves out the rows in which the program read its code in; still
// says that there are no others. Steps end the loading.
func (k *Track) afterStart() (rest *Track, still bool) {
	file := k.Cols[record.ColRSSFile]
	if file == nil || len(k.Clock) == 0 || k.Untimed {
		return k, false
	}
	first, last, end := -1., 0., -1
	for i, v := range file {
		if k.Clock[i]-k.Clock[0] > StartFor || k.Step != nil && k.Step[i] != k.Step[0] {
			break
		}
		if code := k.Cols[record.ColFileCode]; code != nil && code[i] < v {
			v = code[i] // what is beyond it was mapped of files without code
		}
		if v != v {
			continue
		}
		if first < 0 {
			first, last = v, v
		}
		if v > last+startRise {
			end = i
		}
		last = v // a driver that works touches a page of its code now and then
	}
	switch {
	case end < 0 || last-first < startLeast, k.changedFiles() > (last-first)/2:
		return k, false
	case len(k.Clock)-end >= startRows:
		return k.rows(end, len(k.Clock)), false
	}
	return k, true
}

// imports reports whether Python was importing modules when they were last counted. A slow
// disk may keep it from counting for seconds more, in which nothing happens.
func (k *Track) imports() bool {
	count := k.Cols[record.ColImported]
	last := len(count) - 1
	for last >= 0 && count[last] != count[last] {
		last--
	}
	if last < 0 || k.Clock[len(k.Clock)-1]-k.Clock[0] > StartFor {
		return false
	}
	for i := last; i >= 0; i-- {
		if k.Clock[i] <= k.Clock[last]-importsIn && count[i] == count[i] {
			return count[last]-count[i] > importsFew
		}
	}
	return true // it was asked for less than that
}

// changedFiles is how much of its mapped files the program had changed at most while it
// may have been starting, in bytes: nobody changes code.
func (k *Track) changedFiles() float64 {
	most := 0.
	for i, v := range k.Cols[record.ColFileDirty] {
		if v > most && k.Clock[i]-k.Clock[0] <= StartFor {
			most = v
		}
	}
	return most
}

// CountsWork reports whether steps or another running total of work advanced.
func (k *Track) CountsWork() bool {
	end, _ := k.LastWork()
	return end > 0
}
