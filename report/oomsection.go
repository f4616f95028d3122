package report

import (
	"fmt"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/peak"
	"github.com/gpumem/gpumem/report/verdict"
)

// oomSection says why the program ran out of memory and what would have helped, or
// how often it caught that. A program that did not run out has none.
func oomSection(v *verdict.Verdict) section {
	o := v.OOM
	s := section{id: "oom", title: "Out of memory"}
	if o == nil {
		return s
	}
	s.blocks = oomReason(o)
	if pairs := oomFigures(o); len(pairs) > 0 {
		s.blocks = append(s.blocks, block{pairs: pairs})
	}
	if len(o.Composition) > 0 {
		caption := "Live memory when it ran out."
		if o.Incomplete {
			caption = "Live memory when it ran out; the search for names ended early, so what has no name " +
				"may be anything."
		}
		s.blocks = append(s.blocks, block{table: compositionTable(caption, o.Composition)})
	}
	if t := modulesTable(oomModules, o.Modules, sumOf(o.Composition)); t != nil {
		s.blocks = append(s.blocks, block{table: t})
	}
	if t := othersTable(o); t != nil {
		s.blocks = append(s.blocks, block{table: t})
	}
	if list := oomHolders(o); len(list) > 0 {
		s.blocks = append(s.blocks, block{head: "Who held memory then", list: list})
	}
	if stack := oomStack(o); len(stack) > 0 {
		s.blocks = append(s.blocks, block{head: "Where it asked", list: stack})
	}
	return s
}

// oomReason says why it ran out, and what would have changed that.
func oomReason(o *peak.OOM) (blocks []block) {
	switch {
	case o.Ended(): // the page begins with the sentence
	case o.Sentence != "":
		blocks = append(blocks, block{text: clean(upperFirst(o.Sentence), maxSentence)})
	default:
		blocks = append(blocks, block{text: caughtText(o)})
	}
	var saves []string
	for i := range o.Saves {
		saves = append(saves, clean(o.Saves[i].Text(), maxLine))
	}
	if len(saves) == 0 {
		return blocks
	}
	head := "What would have changed it"
	if o.PutsOff() {
		head = "What would have put it off"
	}
	return append(blocks, block{head: head, list: saves})
}

// oomModules is the caption of the table by module. Nobody watched the forward passes
// then: see docs/out-of-memory.md.
const oomModules = "Live memory when it ran out, by module of the model; of activations, by the parameters " +
	"that went into them."

// caughtText tells of errors that the program went on after, with the last one's
// figures; empty where one ended it, and where there were none.
func caughtText(o *peak.OOM) string {
	if o == nil || o.Died || o.Sentence != "" || o.Errors == 0 {
		return ""
	}
	text := "The program ran out of memory " + timesText(o.Errors) + " and went on"
	if o.AskedBytes != nil {
		text += "; the last time it asked for " + units.Bytes(*o.AskedBytes)
		if o.Site != "" {
			site, _, _ := strings.Cut(o.Site, " (build id ")
			text += " at " + site
		}
		if o.LiveBytes != nil {
			text += ", with " + units.Bytes(*o.LiveBytes) + " live"
		}
	}
	return clean(text, maxLine) + "."
}

// oomFigures are the numbers of the moment.
func oomFigures(o *peak.OOM) []pair {
	var out []pair
	add := func(name string, bytes *int64, more string) {
		if bytes != nil {
			out = append(out, pair{name, units.Bytes(*bytes) + more})
		}
	}
	if o.AtMs > 0 {
		out = append(out, pair{"when", units.Seconds(o.AtMs/1000) + " into the run"})
	}
	add("asked for", o.AskedBytes, "")
	add("free on the device", o.FreeBytes, "")
	if o.LimitBytes != nil && o.Capacity != nil && *o.LimitBytes < *o.Capacity {
		add("the program's own limit", o.LimitBytes, "")
	}
	add("capacity", o.Capacity, "")
	add("live", o.LiveBytes, "")
	pieces := ""
	if o.IdlePieces != nil && o.LargestFree != nil {
		pieces = fmt.Sprintf(" in %s pieces, the largest of %s", units.Count(*o.IdlePieces),
			units.Bytes(*o.LargestFree))
	}
	add("idle", o.IdleBytes, pieces)
	if o.Died && o.Caught > 0 {
		out = append(out, pair{"caught before", timesText(o.Caught)})
	}
	return out
}

// compositionTable is what live memory is made of, with the sum.
func compositionTable(caption string, list []peak.Category) *table {
	t := &table{caption: caption, zeros: "Nothing",
		head: []column{{title: "what"}, {title: "bytes", right: true}, {title: "share", right: true}}}
	sum := sumOf(list)
	for _, c := range list[:min(len(list), maxRows)] {
		t.rows = append(t.rows, []string{clean(c.Name, maxName), units.Bytes(c.Bytes),
			units.Percent(float64(c.Bytes) / float64(max(sum, 1)))})
	}
	t.foot = [][]string{{"sum", units.Bytes(sum), ""}}
	return t
}

func sumOf(list []peak.Category) (sum int64) {
	for _, c := range list {
		sum += c.Bytes
	}
	return sum
}

// othersTable is who held memory on the device beside the program.
func othersTable(o *peak.OOM) *table {
	t := &table{caption: "Processes on the devices then.",
		head: []column{{title: "pid", right: true}, {title: "bytes", right: true},
			{title: "device", right: true},
			{title: "name"}}}
	for _, p := range o.Others[:min(len(o.Others), maxRows)] {
		name := clean(p.Name, maxName)
		if p.Own {
			name += " (of this run)"
		}
		t.rows = append(t.rows, []string{fmt.Sprint(p.PID), units.Bytes(p.Bytes), fmt.Sprint(p.Device), name})
	}
	if len(t.rows) < 2 {
		return nil // the program alone
	}
	return t
}

func oomHolders(o *peak.OOM) (list []string) {
	for _, h := range o.Holders[:min(len(o.Holders), 10)] {
		list = append(list, fmt.Sprintf("%s: %s in %s", clean(h.String(), maxName), units.Bytes(h.Bytes),
			units.Count(h.Count)))
	}
	return list
}

func oomStack(o *peak.OOM) (list []string) {
	for _, frame := range o.Stack[:min(len(o.Stack), 12)] {
		list = append(list, clean(frame, maxName))
	}
	return list
}

func timesText(n int64) string {
	if n == 1 {
		return "once"
	}
	return units.Count(n) + " times"
}

func upperFirst(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return s
	}
	return string(s[0]-'a'+'A') + s[1:]
}
