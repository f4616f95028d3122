package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// shellLine joins words so that a POSIX shell splits them again the same way,
// in one line that clean has nothing to change in but its length.
func shellLine(words []string) string {
	word, evaluate := shellWord, slices.ContainsFunc(words, endsLine)
	if evaluate {
		word = shellQuoted
	}
	line := joined(words, word)
	if evaluate {
		// The shell drops line ends at the end of what a command prints. Here
		// that is the whole line, which ends in a quote or a letter.
		return `eval "$(printf %b ` + shellQuoted(escaped(line)) + `)"`
	}
	return line
}

func endsLine(word string) bool { return strings.HasSuffix(word, "\n") }

func joined(words []string, quoted func(string) string) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		if b.Len() > 2*maxLine {
			break // clean cuts it and shows that it did
		}
		if len(w) > 8*maxLine {
			w = w[:8*maxLine] // more than clean will show, and never megabytes
		}
		b.WriteString(quoted(w))
	}
	return b.String()
}

func shellWord(w string) string {
	plain := w != ""
	for _, r := range w {
		plain = plain && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("_-./=:,+@%", r))
	}
	if plain {
		return w
	}
	if e := escaped(w); e != strings.ReplaceAll(w, `\`, `\\`) {
		return `"$(printf %b ` + shellQuoted(e) + `)"`
	}
	return shellQuoted(w)
}

func shellQuoted(w string) string { return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'" }

// escaped writes what could not be seen, or not be told apart, as printf's %b
// reads it: a script of several lines stays what it is.
func escaped(w string) string {
	var b strings.Builder
	space := false
	for len(w) > 0 {
		r, size := utf8.DecodeRuneInString(w)
		switch {
		case r == '\\':
			b.WriteString(`\\`)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case visible(r) != r || r == utf8.RuneError || unicode.IsSpace(r) && (r != ' ' || space):
			for _, c := range []byte(w[:size]) {
				fmt.Fprintf(&b, `\0%03o`, c)
			}
		default:
			b.WriteString(w[:size])
		}
		space = r == ' '
		w = w[size:]
	}
	return b.String()
}
