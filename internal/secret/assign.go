package secret

import "strings"

// assignment is what stands between a name and its value.
type assignment struct {
	name   string
	quoted bool // the name: "password": …
	colon  bool
	spaced bool // around an equals sign
	p      int  // where the value begins
}

// assignment masks the value of the name s[i:j], if it has one and is a
// secret's, and returns its end, else 0.
func (sc *scanner) assignment(i, j int) int {
	a, ok := sc.assigned(i, j)
	if !ok {
		return 0
	}
	g := gradeOf(a.name)
	if g == plain || a.p >= len(sc.s) {
		return 0
	}
	if sc.whole && !a.quoted && !a.spaced && (!a.colon || isHeader(a.name)) && i == 0 {
		return sc.mask(a, g, a.p, len(sc.s))
	}
	switch sc.s[a.p] {
	case '[':
		if g >= weak {
			return sc.mask(a, g, a.p+1, closing(sc.s, a.p+1, "]"))
		}
		return 0
	case '{':
		sc.nested = sc.nested || g == strong
		return 0
	case '(':
		return 0
	}
	if a.colon && !a.quoted && isHeader(a.name) {
		return sc.header(a, g, i)
	}
	from, to := sc.value(a.p)
	value := sc.s[from:to]
	if from == a.p && !a.quoted && g <= weak && (a.colon || a.spaced) && !isOdd(value) {
		return 0 // prose, or a program's own text
	}
	return sc.mask(a, g, from, to)
}

// mask masks s[from:to] as the value of an assignment, but for the scheme that
// a header begins with.
func (sc *scanner) mask(a assignment, g grade, from, to int) int {
	if a.colon {
		from = skipScheme(sc.s, from, to)
	}
	if !g.masks(sc.s[from:to]) {
		return 0
	}
	return sc.add(from, to, a.name)
}

// assigned finds the equals sign or colon behind a name.
func (sc *scanner) assigned(i, j int) (assignment, bool) {
	s := sc.s
	a := assignment{name: s[i:j]}
	k := j
	if k < len(s) && isQuote(s[k]) && sc.before(i) == s[k] {
		k, a.quoted = k+1, true
	} else if k+1 < len(s) && s[k] == '\\' && isQuote(s[k+1]) && i > 1 && s[i-2:i] == s[k:k+2] {
		k, a.quoted = k+2, true
	}
	if k < len(s) && s[k] == ']' && i > 0 {
		k++ // d["password"] = …, user[password]=…
	}
	m := skipBlanks(s, k)
	if m >= len(s) || m > k+2 {
		return a, false
	}
	switch s[m] {
	case '=':
		return sc.equals(a, k, m)
	case ':':
		if m > k && !a.quoted || m+1 < len(s) && s[m+1] == ':' {
			return a, false
		}
		if m+1 < len(s) && s[m+1] == '=' {
			m++
		} else {
			a.colon = true
		}
		a.p = skipBlanks(s, m+1)
		return a, true
	}
	return a, false
}

// equals reads the equals sign at m, behind the name that ends at k: = == =>.
func (sc *scanner) equals(a assignment, k, m int) (assignment, bool) {
	s := sc.s
	a.p, a.spaced = m+1, m > k
	if a.p < len(s) && s[a.p] == '>' {
		a.p++
	}
	double := a.p < len(s) && s[a.p] == '='
	if double && a.name[0] != '-' {
		a.p++
	}
	if p := skipBlanks(s, a.p); p > a.p && (a.spaced || double) {
		a.p, a.spaced = p, true
	} else if p > a.p {
		return a, false // a name set to nothing, then another word
	}
	if double && a.name[0] != '-' && (a.p >= len(s) || !isQuote(s[a.p])) {
		return a, false // a comparison, or the version of a package
	}
	return a, a.p < len(s)
}

// header masks the value of an HTTP header: up to the quote that the header
// stands in, else a word, and of cookies all words.
func (sc *scanner) header(a assignment, g grade, i int) int {
	s := sc.s
	from := a.p
	var to int
	if before := sc.before(i); isQuote(before) {
		to = closing(s, from, s[i-1:i])
	} else {
		from, to = sc.value(skipScheme(s, a.p, len(s)))
		for to+1 < len(s) && s[to] == ';' && s[to+1] == ' ' {
			to = sc.bare(to + 2)
		}
	}
	if !g.masks(s[from:to]) {
		return 0
	}
	return sc.mask(a, g, from, to)
}

// isHeader reports a name in the form of a header that carries a secret.
func isHeader(name string) bool {
	if name[0] == '-' {
		return false
	}
	return strings.IndexByte(name, '-') > 0 || strings.EqualFold(name, "authorization") ||
		strings.EqualFold(name, "cookie")
}

// skipScheme skips the scheme of an Authorization header: it is no secret.
func skipScheme(s string, from, to int) int {
	end := from
	for end < to && isNameByte(s[end]) {
		end++
	}
	if end+1 >= to || s[end] != ' ' {
		return from
	}
	switch strings.ToLower(s[from:end]) {
	case "bearer", "basic", "token", "digest", "apikey", "negotiate":
		return end + 1
	}
	return from
}

// isOdd reports a value that is no word of prose or of a program: letters and
// digits mixed, or very long, and nothing of code in it.
func isOdd(value string) bool {
	if len(value) > longRandom {
		return true
	}
	letter, digit := false, false
	for i := range len(value) {
		c := value[i]
		letter, digit = letter || isLetter(c), digit || isDigit(c)
		if c == '(' || c == '[' || c == '{' || c == '<' {
			return false
		}
	}
	return letter && digit && len(value) >= 6 && !isPath(value) || len(value) >= 24 && letter &&
		!strings.ContainsAny(value, "/.")
}
