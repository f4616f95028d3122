package record

import (
	"math"
	"slices"
)

// leastEven is how many rows a process must have left for its end to be taken as
// sparsely as its past. One with fewer is young.
const leastEven = 100

// EvenRows are those of a process's rows, given by number in order of time, that
// sample it evenly, at most about most of them, and all around marks: what a verdict
// wants. Where there are more, it takes the first row of each slot, of the slots by
// which a Writer thins the past of a run. So of a run that was thinned to as many
// rows or more the same ones come back as of the whole. Rows of a thinned past that
// stay for an extreme value are left out. The times are those of all rows, in
// milliseconds; thinned is their ColThinned, nil without one. It changes neither.
func EvenRows(at, thinned []float64, rows []int, marks Marks, most int) []int {
	level := 0
	if thinned != nil {
		rows = slices.DeleteFunc(slices.Clone(rows), func(i int) bool { return thinned[i] == Extreme })
		for _, i := range rows {
			if l := thinned[i]; l > 0 && l <= maxLevel {
				level = int(l)
			}
		}
	}
	if level == 0 && len(rows) <= most {
		return rows
	}
	levels, counts := levelsOf(at, rows)
	left := func(level int) (n int) {
		for _, c := range counts[level+1:] {
			n += c
		}
		return n
	}
	if left(level) < leastEven {
		level = 0
	}
	for level < maxLevel && left(level) > most {
		level++
	}
	if level == 0 {
		return rows
	}
	kept := thinner{near: true, marks: marks}
	out, near := make([]int, 0, left(level)), 0
	for k, i := range rows {
		switch {
		case levels[k] > level:
			out = append(out, i)
		case near < most && kept.isNear(micros(at[i])):
			out = append(out, i)
			near++
		}
	}
	return out
}

// levelsOf are the levels from which on rows are not the first of their slots, and how
// many rows each has.
func levelsOf(at []float64, rows []int) (levels []int, counts [maxLevel + 2]int) {
	levels = make([]int, len(rows))
	before := int64(0)
	for k, i := range rows {
		now := micros(at[i])
		levels[k] = maxLevel + 1
		if k > 0 {
			levels[k] = parted(before, now)
		}
		counts[levels[k]]++
		before = now
	}
	return levels, counts
}

// micros is a time of milliseconds in microseconds.
func micros(ms float64) int64 { return int64(math.Round(ms * 1000)) }

// Marks are the times of the phases and receipts of a run, in microseconds, ascending:
// around them nothing is thinned.
type Marks []int64

// MarksOf are those of a run.
func MarksOf(events []Event) Marks {
	var k keeper
	for i := range events {
		k.mark(&events[i])
	}
	return k.marks
}
