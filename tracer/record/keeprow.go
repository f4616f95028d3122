package record

import (
	"bytes"
	"math"
	"strconv"
)

// peaks are the columns whose least and greatest values are kept.
var peakColumns = [...]string{ColFootprint, ColGPU, ColLive, ColIdle, ColHostHeap, ColRSS}

// keepRoles says what the columns of a samples.csv of ours are to its keeper.
type keepRoles struct {
	columns int
	time    int
	pid     int
	thinned int // where ColThinned is; -1 without one
	peak    []int8
}

// rolesOf reads a header. It reports false for one without times.
func rolesOf(header []byte) (keepRoles, bool) {
	names, _ := headerCells(bytes.TrimRight(header, "\r\n"))
	r := keepRoles{columns: len(names), time: -1, pid: -1, thinned: -1, peak: make([]int8, len(names))}
	for i, name := range names {
		r.peak[i] = -1
		switch name {
		case ColTime:
			r.time = i
		case ColPID:
			r.pid = i
		case ColThinned:
			r.thinned = i
		}
		for k, peak := range peakColumns {
			if name == peak {
				r.peak[i] = int8(k)
			}
		}
	}
	return r, r.time >= 0
}

// keptRow is what the keeper knows of a row.
type keptRow struct {
	micros  int64
	pid     int64
	extreme bool
	level   int  // of ColThinned
	stays   bool // of itself
	known   [len(peakColumns)]bool
	value   [len(peakColumns)]int64
}

// read reads a line. It reports false for one that is no row.
func (k *keptRow) read(line []byte, r *keepRoles) bool {
	*k = keptRow{}
	line = bytes.TrimRight(line, "\r\n")
	timed := false
	for i, column := 0, 0; i <= len(line) && column < r.columns; column++ {
		end := len(line)
		if n := bytes.IndexByte(line[i:], ','); n >= 0 {
			end = i + n
		}
		switch cell := line[i:end]; {
		case len(cell) == 0:
		case column == r.time:
			k.micros, timed = microsOf(cell)
		case column == r.pid:
			k.pid, _ = wholeNumber(cell)
		case column == r.thinned:
			level, _ := wholeNumber(cell)
			k.extreme, k.level = level == Extreme, int(min(level, maxLevel))
		case r.peak[column] >= 0:
			p := r.peak[column]
			k.value[p], k.known[p] = wholeNumber(cell)
		}
		i = end + 1
	}
	return timed
}

// microsOf reads milliseconds, to microseconds.
func microsOf(cell []byte) (int64, bool) {
	if us, ok := plainMicros(cell); ok {
		return us, true
	}
	ms, err := strconv.ParseFloat(string(cell), 64)
	return int64(ms * 1000), err == nil && math.Abs(ms) < 1<<50
}

// plainMicros reads milliseconds with up to three decimals, as a Writer has them.
func plainMicros(cell []byte) (int64, bool) {
	whole, frac, _ := bytes.Cut(cell, []byte{'.'})
	ms, ok := wholeNumber(whole)
	if !ok || len(frac) > 3 || ms > 1<<50 || ms < -1<<50 {
		return 0, false
	}
	us := int64(0)
	for i := range 3 {
		us *= 10
		if i < len(frac) {
			if frac[i] < '0' || frac[i] > '9' {
				return 0, false
			}
			us += int64(frac[i] - '0')
		}
	}
	if whole[0] == '-' {
		us = -us
	}
	return ms*1000 + us, true
}

// wholeNumber reads a decimal number without a fraction.
func wholeNumber(cell []byte) (n int64, ok bool) {
	digits := bytes.TrimPrefix(cell, []byte{'-'})
	if len(digits) == 0 || len(digits) > 18 {
		return 0, false
	}
	for _, d := range digits {
		if d < '0' || d > '9' {
			return 0, false
		}
		n = n*10 + int64(d-'0')
	}
	if len(digits) < len(cell) {
		n = -n
	}
	return n, true
}
