package secret

import "strings"

// scanner finds the secrets in one text, in one pass.
type scanner struct {
	s string
	// whole is set for one argument of a command line: a value that it begins
	// with reaches to its end, blanks included.
	whole bool
	// shapes is set for what programs print: names do not count there.
	shapes bool
	// nested is set when a secret's name stands before an object of JSON.
	nested bool
	spans  []span // ascending
	// bareFrom and bareTo are the last value without quotes: a text of names only
	// (a=a=a=…) would else be read to its end for each of them.
	bareFrom, bareTo int
	command          command
}

// span is the secret s[from:to]; name is what it is the value of.
type span struct {
	from, to int
	name     string
}

// masked is the text with its secrets masked and counted.
func (sc *scanner) masked(t *Tally) string {
	var b strings.Builder
	at := 0
	for _, f := range sc.spans {
		b.WriteString(sc.s[at:f.from])
		b.WriteString(Mask)
		at = f.to
		t.count(f.name)
	}
	b.WriteString(sc.s[at:])
	return b.String()
}

// add notes a secret, unless it is masked already, and returns its end.
func (sc *scanner) add(from, to int, name string) int {
	if !isMasked(sc.s[from:to]) {
		sc.spans = append(sc.spans, span{from, to, name})
	}
	return to
}

// scan looks at each run of bytes that a name may be made of.
func (sc *scanner) scan() {
	for i := 0; i < len(sc.s); {
		if c := sc.s[i]; !isNameByte(c) {
			if c == ';' || c == '|' || c == '&' || c == '\n' {
				sc.command = command{}
			}
			i++
			continue
		}
		i = sc.run(i, nameEnd(sc.s, i))
	}
}

// run looks at the run s[i:j] and at what follows it, and returns where to go on.
func (sc *scanner) run(i, j int) int {
	if j-i >= leastShape {
		if at, end, name := shapeIn(sc.s, i, j); end > 0 {
			return sc.add(at, end, name)
		}
	}
	if j-i >= len(pemBegin) {
		if at := strings.Index(sc.s[i:j], pemBegin); at >= 0 {
			if end := sc.pem(i + at); end > 0 {
				return end
			}
		}
	}
	if strings.HasPrefix(sc.s[j:], "://") {
		return sc.url(i, j+3)
	}
	if end := sc.webhook(i, j); end > 0 {
		return end
	}
	if sc.shapes {
		return j
	}
	if end := sc.word(i, j); end > 0 {
		return end
	}
	if end := sc.assignment(i, j); end > 0 {
		return end
	}
	if end := sc.userinfo(i, j); end > 0 {
		return end
	}
	return j
}

// word looks at a run as a word of a command line: an option whose value is the
// next word, or a program that takes its password in one of its own.
func (sc *scanner) word(i, j int) int {
	atBlank := j == len(sc.s) || isBlank(sc.s[j])
	switch before := sc.before(i); {
	case sc.command.setting && atBlank:
	case before == '/' && atBlank:
		sc.command.word(sc.s[i:j])
		return 0
	case before != 0 && !isBlank(before) && !isQuote(before) &&
		!strings.ContainsRune("([{,;|&=", rune(before)):
		return 0
	}
	if sc.s[i] == '-' {
		if end := sc.glued(i); end > 0 {
			return end
		}
	}
	if !atBlank {
		return 0
	}
	var o option
	switch {
	case sc.s[i] == '-', sc.command.setting:
		o = sc.command.option(sc.s[i:j])
	case strings.EqualFold(sc.s[i:j], "bearer"):
		o = option{how: ifOdd, name: "bearer token"}
	default:
		o = sc.command.word(sc.s[i:j])
	}
	if o.how == nothing {
		return 0
	}
	from, to := sc.value(skipBlanks(sc.s, j))
	if f, t, ok := o.value(sc.s, from, to); ok {
		return sc.add(f, t, o.name)
	}
	return 0
}

// glued masks a password that stands in one word with its option.
func (sc *scanner) glued(i int) int {
	if sc.command.program == none {
		return 0
	}
	end := sc.bare(i)
	if at, name := sc.command.glued(sc.s[i:end]); at > 0 {
		return sc.add(i+at, end, name)
	}
	return 0
}

// before is the byte before i, 0 at the beginning.
func (sc *scanner) before(i int) byte {
	if i == 0 {
		return 0
	}
	return sc.s[i-1]
}

// value is the value that begins at p: what is between quotes, else up to a
// blank or what ends a word in the languages of command lines.
func (sc *scanner) value(p int) (from, to int) {
	s := sc.s
	for n := 0; n < 2 && p+1 < len(s) && strings.IndexByte("bBrRuUfF", s[p]) >= 0; n++ { // b'…' of Python
		if isQuote(s[p+1]) {
			p++
			break
		}
		if n == 0 && (p+2 >= len(s) || strings.IndexByte("bBrRuUfF", s[p+1]) < 0 || !isQuote(s[p+2])) {
			break
		}
		p++
	}
	if p >= len(s) {
		return p, p
	}
	if s[p] == '\\' && p+1 < len(s) && isQuote(s[p+1]) {
		return p + 2, closing(s, p+2, s[p:p+2])
	}
	if isQuote(s[p]) {
		return p + 1, closing(s, p+1, s[p:p+1])
	}
	return p, sc.bare(p)
}

// closing is where the quote ends that was opened before p: at its mark, which
// no backslash precedes, else at the end of the line.
func closing(s string, p int, mark string) int {
	for i := p; i < len(s); i++ {
		switch {
		case strings.HasPrefix(s[i:], mark):
			return i
		case s[i] == '\\' && len(mark) == 1:
			i++
		}
	}
	if line := strings.IndexByte(s[p:], '\n'); line >= 0 {
		return p + line
	}
	return len(s)
}

// bare is the end of the value without quotes that begins at p.
func (sc *scanner) bare(p int) int {
	if p > sc.bareFrom && p < sc.bareTo {
		return sc.bareTo
	}
	end := bareEnd(sc.s, p)
	sc.bareFrom, sc.bareTo = p, end
	return end
}

func bareEnd(s string, p int) int {
	for e := p; e < len(s); e++ {
		switch c := s[e]; c {
		case ' ', '\t', '\n', '\r':
			return e
		case '"', '\'', '`':
			if endsWord(s, e+1) {
				if e > p && s[e-1] == '\\' {
					return e - 1
				}
				return e
			}
			if end := closing(s, e+1, s[e:e+1]); end < len(s) && s[end] == c {
				e = end // ab"c d"ef is one word
			}
		case ';', '&', '|':
			if e+1 == len(s) || isBlank(s[e+1]) || s[e+1] == c || beginsPair(s, e+1) {
				return e
			}
		case ',':
			if e+1 == len(s) || isBlank(s[e+1]) || isQuote(s[e+1]) || beginsPair(s, e+1) {
				return e
			}
		case ')', '}', ']':
			if endsWord(s, e+1) {
				return e
			}
		}
	}
	return len(s)
}

// endsWord reports whether nothing of a word can stand at i.
func endsWord(s string, i int) bool {
	return i >= len(s) || isBlank(s[i]) || strings.IndexByte(",;:)}]>|&\"'\\`", s[i]) >= 0
}

// beginsPair reports whether another name=value stands at i.
func beginsPair(s string, i int) bool {
	const longest = 40
	for e := i; e < len(s) && e-i <= longest; e++ {
		if c := s[e]; !isNameByte(c) && c != ' ' {
			return e > i && (c == '=' || c == ':')
		}
	}
	return false
}

func isNameByte(c byte) bool { return nameBytes[c] }

// nameBytes are what names, options and the tokens of services are made of.
var nameBytes = func() (t [256]bool) {
	for c := range t {
		b := byte(c)
		t[c] = b < 0x80 && (isLetter(b) || isDigit(b)) || b == '_' || b == '-' || b == '.'
	}
	return t
}()

func nameEnd(s string, i int) int {
	for i < len(s) && isNameByte(s[i]) {
		i++
	}
	return i
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

func skipBlanks(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	return i
}
