package llama

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// splitter is the length of the first word of a text that is not empty.
type splitter func(text string) int

const splitterNames = "gpt-2, smollm and llama-bpe"

// splitterOf is that of a name (llama.cpp, tokenizer.ggml.pre).
func splitterOf(name string) (splitter, bool) {
	switch name {
	case "", "default", "gpt-2":
		return func(text string) int { return word(text, 0, false) }, true
	case "smollm":
		return func(text string) int { return word(text, 1, false) }, true
	case "llama-bpe", "llama3", "llama-v3":
		return func(text string) int { return word(text, 3, true) }, true
	}
	return nil, false
}

func letter(r rune) bool { return unicode.Is(unicode.L, r) }
func digit(r rune) bool  { return unicode.Is(unicode.N, r) }
func other(r rune) bool  { return !letter(r) && !digit(r) && !unicode.IsSpace(r) }

// run is the length of what all is of a class, of so many characters at most; 0
// is no limit.
func run(text string, is func(rune) bool, most int) (n int) {
	for count := 0; n < len(text) && (most == 0 || count < most); count++ {
		r, size := utf8.DecodeRuneInString(text[n:])
		if !is(r) {
			break
		}
		n += size
	}
	return n
}

// word is the first word by the expressions of GPT-2 and of Llama 3, which
// differ in how many digits go together and in what may stand before letters and
// behind signs. SmolLM's digits stand alone.
//
//	GPT-2:   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//	Llama 3: (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
func word(text string, digits int, llama3 bool) int {
	if n := contraction(text, llama3); n > 0 {
		return n
	}
	first, size := utf8.DecodeRuneInString(text)
	before := 0 // what may stand before letters
	if first == ' ' || llama3 && first != '\r' && first != '\n' && !letter(first) && !digit(first) {
		before = size
	}
	if n := run(text[before:], letter, 0); n > 0 {
		return before + n
	}
	blank := 0
	if first == ' ' {
		blank = 1
	}
	lead := blank // digits that go together in parts have no space before them
	if digits > 0 {
		lead = 0
	}
	if n := run(text[lead:], digit, digits); n > 0 {
		return lead + n
	}
	if n := run(text[blank:], other, 0); n > 0 {
		if llama3 {
			n += run(text[blank+n:], newline, 0)
		}
		return blank + n
	}
	if n := run(text, unicode.IsSpace, 0); digits == 1 && run(text[n:], digit, 1) > 0 {
		return n // digits that stand alone take no space
	}
	return spaces(text, llama3)
}

func newline(r rune) bool { return r == '\r' || r == '\n' }

// spaces is the length of the white space that a text begins with, without the
// last character of it where a word follows: that belongs to the word.
func spaces(text string, llama3 bool) int {
	n := run(text, unicode.IsSpace, 0)
	if llama3 {
		if i := strings.LastIndexAny(text[:n], "\r\n"); i >= 0 {
			return i + 1
		}
	}
	_, last := utf8.DecodeLastRuneInString(text[:n])
	if n < len(text) && n > last {
		return n - last
	}
	return max(n, 1)
}

func contraction(text string, anyCase bool) int {
	for _, c := range []string{"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"} {
		if strings.HasPrefix(text, c) || anyCase && len(text) >= len(c) &&
			strings.EqualFold(text[:len(c)], c) {
			return len(c)
		}
	}
	return 0
}

// Byte pairs write each byte as a character that can be seen (GPT-2,
// bytes_to_unicode): printing ones of Latin 1 as they are, the others from 256 on.

func seen(b int) bool {
	return b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae && b <= 0xff
}

func runeOf(b byte) rune {
	if seen(int(b)) {
		return rune(b)
	}
	n := rune(256)
	for i := range int(b) {
		if !seen(i) {
			n++
		}
	}
	return n
}

func byteOf(r rune) (byte, bool) {
	if r < 256 {
		return byte(r), seen(int(r))
	}
	n := rune(256)
	for i := range 256 {
		if seen(i) {
			continue
		}
		if n == r {
			return byte(i), true
		}
		n++
	}
	return 0, false
}
