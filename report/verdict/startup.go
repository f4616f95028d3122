package verdict

import "github.com/gpumem/gpumem/tracer/record"

// A program that starts reads its code in: file pages and the heap grow
// together, until neither does. That is warm-up, however steady it looks.
const (
	startFor   = 30.      // seconds from the first row on in which code is loaded
	startRise  = 4 * mib  // of file pages from one reading to the next
	startLeast = 16 * mib // of file pages in all, for a start that matters
	startRows  = 60       // rows that must be left for a trend
)

// afterStart leaves out the rows in which the program read its code in; still
// says that there are no others. Steps end the loading.
func (k *track) afterStart() (rest *track, still bool) {
	file := k.cols[record.ColRSSFile]
	if file == nil || len(k.clock) == 0 || k.untimed {
		return k, false
	}
	first, last, end := -1., 0., -1
	for i, v := range file {
		if k.clock[i]-k.clock[0] > startFor || k.Step != nil && k.Step[i] != k.Step[0] {
			break
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
	case end < 0 || last-first < startLeast:
		return k, false
	case len(k.clock)-end >= startRows:
		return k.rows(end, len(k.clock)), false
	}
	return k, true
}

// findStart is a program that was reading its code in up to the end; nil of
// another.
func findStart(starting bool) *finding {
	if !starting {
		return nil
	}
	const why = "the program was reading its code in up to the end, which is no growth of its work"
	return &finding{of: keys, why: why}
}
