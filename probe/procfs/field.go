package procfs

import "bytes"

// Unknown stands for a number that a file does not tell. It is never 0.
const Unknown int64 = -1

// maxDigits bounds a number: no machine has 2^50 pages or KiB.
const maxDigits = 15

// Number reads the decimal number at the head of b, after blanks. One of more
// than 15 digits is none.
func Number(b []byte) (n int64, rest []byte, ok bool) {
	i := 0
	for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	start := i
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		if i-start == maxDigits {
			return 0, nil, false
		}
		n = n*10 + int64(b[i]-'0')
		i++
	}
	return n, b[i:], i > start
}

// kib is a number of KiB as bytes, Unknown where there is none.
func kib(value []byte) int64 {
	n, _, ok := Number(value)
	if !ok {
		return Unknown
	}
	return n << 10
}

// Line is the first line of b without its end, and what comes after.
func Line(b []byte) (line, rest []byte) {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return b[:i], b[i+1:]
	}
	return b, nil
}

// Field splits a line "key: value", as in status, meminfo and fdinfo, without
// the blanks around both; false for a line without a colon. Older drivers write
// a blank before the colon.
func Field(line []byte) (key, value []byte, ok bool) {
	i := bytes.IndexByte(line, ':')
	if i < 0 {
		return nil, nil, false
	}
	return bytes.TrimSpace(line[:i]), bytes.TrimSpace(line[i+1:]), true
}
