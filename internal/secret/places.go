package secret

import "strings"

const (
	pemBegin = "-----BEGIN"
	pemEnd   = "-----END"
)

// pem masks the body of a private key whose header begins at i, and returns the
// end of the body, else 0.
func (sc *scanner) pem(i int) int {
	const longest = 40 // bytes of the header's words
	s := sc.s
	head := i + len(pemBegin)
	mark := strings.Index(s[head:min(len(s), head+longest)], "PRIVATE KEY")
	if mark < 0 {
		return 0
	}
	from := head + mark + len("PRIVATE KEY")
	if block := strings.Index(s[from:min(len(s), from+12)], "-----"); block >= 0 {
		from += block + 5
	}
	to := len(s)
	if end := strings.Index(s[from:], pemEnd); end >= 0 {
		to = from + end
	}
	return max(sc.add(from, to, "private key"), from)
}

// url masks the password of a URL whose scheme begins at i and whose host or
// user begins at p, and returns where to go on.
func (sc *scanner) url(i, p int) int {
	s := sc.s
	end := p
	for end < len(s) && !isBlank(s[end]) && !isQuote(s[end]) && strings.IndexByte("/?#<>\\", s[end]) < 0 {
		end++
	}
	at := strings.LastIndexByte(s[p:end], '@')
	colon := strings.IndexByte(s[p:end], ':')
	if at < 0 {
		return sc.slashed(p, end, colon)
	}
	if colon < 0 || colon > at {
		if user := s[p : p+at]; isRandom(user) || hasShape(user) || len(user) >= 32 {
			return sc.add(p, p+at, "user of a URL")
		}
		return p + at
	}
	if user := s[p : p+colon]; isRandom(user) || hasShape(user) {
		sc.add(p, p+colon, "user of a URL")
	}
	return sc.add(p+colon+1, p+at, "password in a URL")
}

// slashed masks a password with a mark in it that should end the host's part.
func (sc *scanner) slashed(p, end, colon int) int {
	if colon < 0 || digits(sc.s[p+colon+1:end]) {
		return p
	}
	if strings.HasPrefix(sc.s[p:end], "[") && strings.HasSuffix(sc.s[p:end], "]") {
		return p // an address of version 6
	}
	word := end
	for word < min(len(sc.s), end+longPassword) && !isBlank(sc.s[word]) && !isQuote(sc.s[word]) {
		word++
	}
	at := strings.LastIndexByte(sc.s[end:word], '@')
	if at < 0 {
		return p
	}
	return sc.add(p+colon+1, end+at, "password in a URL")
}

func hasShape(s string) bool {
	_, end, _ := shapeIn(s, 0, len(s))
	return end > 0
}

// webhook masks the path of a URL that posts to a chat for whoever knows it.
func (sc *scanner) webhook(i, j int) int {
	s := sc.s
	place := ""
	switch s[i:j] {
	case "hooks.slack.com":
		place = "/services/"
	case "discord.com", "discordapp.com":
		place = "/api/webhooks/"
	default:
		return 0
	}
	if !strings.HasPrefix(s[j:], place) {
		return 0
	}
	return sc.add(j+len(place), sc.bare(j+len(place)), "webhook")
}

// longPassword bounds how far a password without a scheme may reach, in bytes.
const longPassword = 128

// userinfo masks the password of user:password@host, s[i:j] being the user.
func (sc *scanner) userinfo(i, j int) int {
	s := sc.s
	if j+1 >= len(s) || s[j] != ':' || s[j+1] == ':' || s[i] == '-' && j-i < 3 {
		return 0
	}
	at := -1
	for e := j + 1; e < len(s) && e-j <= longPassword; e++ {
		if c := s[e]; c == '@' {
			at = e
		} else if isBlank(c) || isQuote(c) || c == '/' || c == '\\' || c == '(' || c == '<' || c == ',' {
			break
		}
	}
	if at <= j+1 || !isHost(s, at+1) || isNoUser(s[i:j]) {
		return 0
	}
	if password := s[j+1 : at]; digits(password) &&
		(len(password) < 4 || strings.IndexByte(s[i:j], '.') > 0) {
		return 0 // a line, a port
	}
	return sc.add(j+1, at, "password of user:password@host")
}

// isHost reports whether a host's name or an address stands at i.
func isHost(s string, i int) bool {
	end := nameEnd(s, i)
	if end == i {
		return false
	}
	host := s[i:end]
	switch host {
	case "sha256", "sha512", "sha1", "md5", "latest", "next", "main", "master", "HEAD":
		return false // of an image, a package, a branch
	}
	return isLetter(host[0]) || strings.Count(host, ".") == 3
}

// isNoUser reports a word that stands before a colon and an address of a person.
func isNoUser(word string) bool {
	switch strings.ToLower(word) {
	case "mailto", "to", "cc", "bcc", "from", "by", "email", "mail", "author", "contact",
		"sip", "acct", "xmpp",
		"npm", "pkg", "user", "owner":
		return true
	}
	return digits(word)
}
