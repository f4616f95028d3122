package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// Names of the tables whose rows others lead to; a row's name in the page is the
// table's and its number: "site-1".
const (
	holderRows = "holder"
	siteRows   = "site"
	stayRows   = "stay"
	lineRows   = "line"
	leftRows   = "left"
)

// anchor is a text that leads to a row of a table in the same page.
type anchor struct {
	text string
	rows string // the table's name
	row  int    // from 0
}

func (a anchor) href() string { return "#" + rowID(a.rows, a.row) }

func rowID(rows string, row int) string { return fmt.Sprintf("%s-%d", rows, row+1) }

// textPart is a piece of a text, which may be a link.
type textPart struct{ Text, Href string }

// anchorsOf are the holders and the lines that have rows, longest text first, so that
// a path is not taken for another that it begins with.
func anchorsOf(v *verdict.Verdict) []anchor {
	var out []anchor
	add := func(text, rows string, row int) {
		known := slices.ContainsFunc(out, func(a anchor) bool { return a.text == text && a.rows == rows })
		if len(text) >= 4 && !known {
			out = append(out, anchor{text, rows, row})
		}
	}
	for i, h := range v.Holders[:min(len(v.Holders), maxRows)] {
		if h.Bytes > 0 && strings.ContainsAny(h.Path, ".[ ") { // a word alone means anything
			add(clean(h.Path, maxName), holderRows, i)
		}
	}
	for i, s := range v.Stays[:min(len(v.Stays), maxRows)] {
		add(placeOf(s.Site), stayRows, i)
	}
	for i, s := range v.Sites[:min(len(v.Sites), maxRows)] {
		if s.Bytes > 0 {
			add(placeOf(s.Site), siteRows, i)
		}
	}
	if v.Peak != nil {
		// What stays of a step is what an answer is about: it is led to first.
		for i, s := range v.Peak.Left[:min(len(v.Peak.Left), mostPeakSites)] {
			add(placeOf(s.Site), leftRows, i)
		}
		for i, s := range v.Peak.Sites[:min(len(v.Peak.Sites), mostPeakSites)] {
			add(placeOf(s.Site), lineRows, i)
		}
	}
	slices.SortStableFunc(out, func(a, b anchor) int { return cmp.Compare(len(b.text), len(a.text)) })
	return out
}

// placeOf is "file:line" of a site, without folders; empty where it tells no line.
func placeOf(site string) string {
	p := record.PlaceOf(clean(site, maxName))
	if p.File == "" || p.Line <= 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d", base(p.File), p.Line)
}

// linked is a text with links to what it names, but not to rows of the table that it
// stands in.
func linked(text string, as []anchor, in string) []textPart {
	var out []textPart
	for text != "" {
		at, best := len(text), anchor{}
		for _, a := range as {
			if a.rows == in {
				continue
			}
			if i := indexOfWord(text, a.text); i >= 0 && i < at {
				at, best = i, a
			}
		}
		if at > 0 {
			out = append(out, textPart{Text: text[:at]})
		}
		if at == len(text) {
			break
		}
		out = append(out, textPart{Text: best.text, Href: best.href()})
		text = text[at+len(best.text):]
	}
	return out
}

func linkedAll(texts []string, as []anchor) (out [][]textPart) {
	for _, text := range texts {
		out = append(out, linked(text, as, ""))
	}
	return out
}

// indexOfWord is where a word stands that is no part of a longer one.
func indexOfWord(text, word string) int {
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return -1
		}
		i += from
		end := i + len(word)
		if (i == 0 || !isWord(text[i-1])) && (end == len(text) || !isWord(text[end])) {
			return i
		}
		from = i + 1
	}
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// fromHolder leads from the holder that the answer names to the line that it names.
func fromHolder(holder, answer string, as []anchor) []textPart {
	named := slices.ContainsFunc(as, func(a anchor) bool {
		return a.rows == holderRows && indexOfWord(answer, a.text) >= 0 && indexOfWord(holder, a.text) >= 0
	})
	if !named {
		return nil
	}
	for _, part := range linked(answer, as, holderRows) {
		if part.Href != "" {
			return []textPart{{Text: ", allocated at "}, part}
		}
	}
	return nil
}
