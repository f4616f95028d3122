package record

import (
	"bytes"
	"math"
	"strconv"
)

// maxCell bounds the bytes of a number, blanks and quotes aside.
const maxCell = 64

// pow10 are the powers that a float64 holds exactly and a cell may need.
var pow10 = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// cellState is what a cell turned out to be.
type cellState uint8

const (
	cellValue   cellState = iota
	cellUnknown           // empty, or a word for "not available"
	cellBad
)

// fastCell reads a plain decimal number, digits with at most one point, that
// starts at line[i] and ends at a comma or the line's end. ok is false for
// anything else, which is then parsed the slow way. The result is exact: at
// most 15 digits, divided by an exact power of ten.
func fastCell(line []byte, i int) (v float64, next int, ok bool) {
	start := i
	var n uint64
	for i < len(line) {
		d := line[i] - '0'
		if d > 9 {
			break
		}
		n = n*10 + uint64(d)
		i++
	}
	digits := i - start
	if digits == 0 || digits > 15 {
		return 0, 0, false
	}
	if i == len(line) || line[i] == ',' {
		return float64(n), i, true
	}
	if line[i] != '.' {
		return 0, 0, false
	}
	i++
	point := i
	for i < len(line) {
		d := line[i] - '0'
		if d > 9 {
			break
		}
		n = n*10 + uint64(d)
		i++
	}
	if digits+i-point > 15 || (i < len(line) && line[i] != ',') {
		return 0, 0, false
	}
	return float64(n) / pow10[i-point], i, true
}

// cellEnd is the index of the comma that ends the cell at line[i], or the
// line's end. A comma inside quotes does not end a cell; a quote that is never
// closed is an ordinary character, so that it cannot swallow its neighbours.
func cellEnd(line []byte, i int) int {
	for j := i; j < len(line) && line[j] != ','; j++ {
		if line[j] == ' ' || line[j] == '\t' {
			continue
		}
		if line[j] != '"' {
			break
		}
		for j++; j < len(line); j++ {
			if line[j] != '"' {
				continue
			}
			if j+1 < len(line) && line[j+1] == '"' {
				j++
				continue
			}
			i = j
			break
		}
		break
	}
	if k := bytes.IndexByte(line[i:], ','); k >= 0 {
		return i + k
	}
	return len(line)
}

// unquote takes blanks and RFC 4180 quotes off a cell.
func unquote(cell []byte) []byte {
	cell = bytes.TrimSpace(cell)
	if len(cell) < 2 || cell[0] != '"' || cell[len(cell)-1] != '"' {
		return cell
	}
	cell = cell[1 : len(cell)-1]
	if bytes.IndexByte(cell, '"') >= 0 {
		cell = bytes.ReplaceAll(cell, []byte(`""`), []byte(`"`))
	}
	return bytes.TrimSpace(cell)
}

// slowCell parses any cell. An amount of -1 is how some writers say unknown
// (resident size off macOS in TL_MEM_TRACE), and 2^64-1 is how drivers do.
func slowCell(cell []byte, kind columnKind) (float64, cellState) {
	cell = unquote(cell)
	if len(cell) == 0 || notAvailable(cell) {
		return unknown, cellUnknown
	}
	if len(cell) > maxCell {
		return unknown, cellBad
	}
	for _, c := range cell {
		// What ParseFloat takes beyond decimal numbers (hex, underscores, Inf)
		// is no number here.
		if (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			return unknown, cellBad
		}
	}
	v, err := strconv.ParseFloat(string(cell), 64)
	if err != nil || math.IsInf(v, 0) {
		return unknown, cellBad
	}
	if kind == kindAmount {
		if v == -1 || v == 1<<64 {
			return unknown, cellUnknown
		}
		if v < 0 || v >= 1<<63 {
			return unknown, cellBad
		}
	}
	return v + 0, cellValue // -0 becomes 0
}

// notAvailable knows the words that spreadsheets, pandas and drivers write
// into an empty cell.
func notAvailable(cell []byte) bool {
	switch len(cell) {
	case 1:
		return cell[0] == '-'
	case 2, 3, 4:
		for _, word := range [...]string{"nan", "na", "n/a", "null", "none"} {
			if bytes.EqualFold(cell, []byte(word)) {
				return true
			}
		}
	case 5:
		return bytes.EqualFold(cell, []byte("[n/a]"))
	}
	return false
}
