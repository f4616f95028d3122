package report

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of strings that come from the traced program, in characters. They
// keep a 10 MB tensor name from filling a report; what is cut ends in "…".
const (
	maxName     = 200  // names, sites, paths, hosts
	maxVariable = 120  // values of environment variables; run.json has them whole
	maxSentence = 600  // the summary
	maxLine     = 2000 // command lines, evidence, warnings
)

// clean makes a foreign string fit to be shown: at most limit characters, the
// last of them "…" when something was cut, every control or invisible
// formatting character and every byte that is not UTF-8 replaced by U+FFFD,
// runs of white space by one space.
func clean(s string, limit int) string {
	var b strings.Builder
	n, space := 0, false
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		s = s[size:]
		if unicode.IsSpace(r) {
			space = n > 0
			continue
		}
		if n+1 >= limit && (len(s) > 0 || space) {
			b.WriteRune('…')
			return b.String()
		}
		if space {
			b.WriteByte(' ')
			n, space = n+1, false
		}
		b.WriteRune(visible(r))
		n++
	}
	return b.String()
}

// visible replaces what a terminal or a browser would act upon instead of
// show: controls, and the directional overrides that make text lie.
func visible(r rune) rune {
	if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs) {
		return unicode.ReplacementChar
	}
	return r
}
