package capture

import (
	"bufio"
	"io"
	"strconv"
	"strings"
	"unicode"
)

const (
	// lineMark marks a frame that is no address: the number of a line of Python, and of the
	// one that called its function, as inject/python.h has it.
	lineMark = 0x5059 << 48
	// maxLines bounds the lines of a process, and maxLineText the bytes of one:
	// inject/python.c writes no more and none longer.
	maxLines    = 2048
	maxLineText = 1100
)

// lineOf is the number of the line of Python that a call came from, the last of its
// frames, and of the line of the program that called that one's function; 0 where none was
// told.
func lineOf(frames stack) (line, caller uint32) {
	for i := len(frames) - 1; i >= 0; i-- {
		if pc := frames[i]; pc != 0 {
			if pc>>48 == lineMark>>48 {
				return uint32(pc), uint32(pc>>32) & 0xffff
			}
			break
		}
	}
	return 0, 0
}

// parseLines reads "NUMBER FILE:LINE FUNCTION" a line. What is none is left out.
func parseLines(r io.Reader) map[uint32]string {
	out := map[uint32]string{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLineText+1)
	for lines.Scan() && len(out) < maxLines {
		number, text, _ := strings.Cut(lines.Text(), " ")
		n, err := strconv.ParseUint(number, 10, 32)
		if err != nil || text == "" || strings.ContainsFunc(text, unicode.IsControl) {
			continue
		}
		out[uint32(n)] = text
	}
	return out
}
