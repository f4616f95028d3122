package report

import (
	"regexp"
	"strings"
)

// Numbers that stand where names do. All others measure something and stay.
var (
	// address is what looks like an address of the Internet, of any version, or
	// of a network card.
	address = regexp.MustCompile(`\b\d{1,3}(\.\d{1,3}){3}\b|(?i)\b[0-9a-f]{0,4}(:[0-9a-f]{0,4}){3,7}\b`)
	// uuid names a device, a volume or a job.
	uuid = regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
	// grouped is what people write in groups: cards, also cut off, and telephones.
	grouped = regexp.MustCompile(
		`\b\d{4}[ -]\d{4}[ -]\d{1,4}([ -]\d{1,4})?\b|\+\d[\d ().-]{5,}\d\b|` +
			`\b\d{3}-\d{3,4}(-\d{3,5})?\b|\b\d-\d{3}-\d{3}-\d{4}\b`)
	// called is a number behind a word that says whose it is.
	called = regexp.MustCompile(
		`(?i)\b(users?|uid|gid|login|account|acct|owner|student|employee|customer|member|` +
			`pw|pwd|passwd|password|pin|key|secret|serial|card|phone|tel|mobile|fax|ssn|iban|mail|email)` +
			`(['"]?[ \t]*[=:#/\\ ][ \t]*['"]?)(\d{3,}\w*)`)
	// assigned is one that is set: of these words gpumem tells measured numbers.
	assigned = regexp.MustCompile(
		`(?i)\b(home|pass|code|token|session|host|node)(['"]?[ \t]*[=:#][ \t]*['"]?)(\d{3,}\w*)`)
	// mailed is a number beside an at sign.
	mailed = regexp.MustCompile(`\b\d+@|@\d+\b`)
	// inHome is the folder of a user who is called by a number.
	inHome = regexp.MustCompile(`(?i)([/\\](?:home|users|u)[/\\])(\d+)`)
	// inPath is a part of a path that begins with a number.
	inPath = regexp.MustCompile(`([/\\])(\d{3,})`)
	// spaceless is a word of a line, which may be a path.
	spaceless = regexp.MustCompile(`[^\s"'<>|]+`)
)

// numbers replaces the numbers of s that stand where names do.
func (r *Redactor) numbers(s string) string {
	if !strings.ContainsAny(s, "0123456789") {
		return s
	}
	for _, whole := range [...]*regexp.Regexp{uuid, address, grouped, mailed} {
		s = whole.ReplaceAllStringFunc(s, func(found string) string {
			front, back := "", ""
			if found[0] == '@' {
				front, found = "@", found[1:]
			} else if number, ok := strings.CutSuffix(found, "@"); ok {
				found, back = number, "@"
			}
			return front + r.token(found) + back
		})
	}
	for _, named := range [...]*regexp.Regexp{called, assigned} {
		s = named.ReplaceAllStringFunc(s, func(found string) string {
			part := named.FindStringSubmatch(found)
			return part[1] + part[2] + r.token(part[3])
		})
	}
	if !strings.ContainsAny(s, `/\`) {
		return s
	}
	return spaceless.ReplaceAllStringFunc(s, r.path)
}

// path replaces the parts of a path that are numbers. What has one slash in its
// middle is a rate or a share.
func (r *Redactor) path(word string) string {
	second := func(of *regexp.Regexp, s string) string {
		return of.ReplaceAllStringFunc(s, func(found string) string {
			part := of.FindStringSubmatch(found)
			return part[1] + r.token(part[2])
		})
	}
	word = second(inHome, word)
	if strings.Count(word, "/")+strings.Count(word, `\`) < 2 && !strings.ContainsRune(`/\~`, rune(word[0])) {
		return word
	}
	return second(inPath, word)
}

// measure is a number, alone or with a unit, or a part of a version.
var measure = regexp.MustCompile(
	`^(v\d{1,4}|\d{1,16}B?|\d{1,9}(ns|us|ms|s|[KMGT]i?B)|\d{1,6}[kMG]|` +
		`\d{1,4}(m|h|x|rc\d{1,2}|post\d{1,3}|dev\d{1,8})|rc\d{1,2}|post\d{1,3}|cu\d{2,3}|go1)$`)

// model is a part of the name of a model of GPU, by the families there are:
// H200, L40S, 4090Ti, MI300X, SXM5.
var model = regexp.MustCompile(
	`\b((GB|GH|MI|GT|RX|[HABLVPTKMWRQ])\d{1,4}[XSGDTM]?|\d{3,4}(Ti|SUPER|XTX?)|SXM\d)\b`)
