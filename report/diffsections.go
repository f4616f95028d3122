package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// changedSites are the allocation sites that are new, gone, grown or shrunk.
func changedSites(a, b judgedSide) section {
	s := section{id: "sites", title: "Allocation sites"}
	if !a.listed(record.KindSites, len(a.v.Sites)) || !b.listed(record.KindSites, len(b.v.Sites)) {
		return s // nothing is new where nobody looked before
	}
	d := changes{at: map[string]int{}}
	for _, site := range a.v.Sites {
		d.base(site.Site, withoutLine(site.Site), site.Bytes, site.Count)
	}
	for _, site := range b.v.Sites {
		d.new(site.Site, withoutLine(site.Site), site.Bytes, site.Count)
	}
	if t := changedTable("What is still allocated at each run's end, "+lengths(a.v, b.v),
		"site", d.sorted()); t != nil {
		s.blocks = []block{{table: t}}
	}
	return s
}

// listed reports whether the program was asked for a list: one that came back
// empty is an answer too.
func (s judgedSide) listed(kind string, found int) bool {
	return found > 0 || slices.ContainsFunc(s.run.Events, func(e record.Event) bool { return e.Kind == kind })
}

// changedHolders are the holders that are new, gone, grown or shrunk.
func changedHolders(a, b judgedSide) section {
	s := section{id: "holders", title: "Holders"}
	if !a.listed(record.KindHolders, len(a.v.Holders)) || !b.listed(record.KindHolders, len(b.v.Holders)) {
		return s
	}
	d := changes{at: map[string]int{}}
	for _, h := range a.v.Holders {
		d.base(h.String(), h.String(), h.Bytes, h.Count)
	}
	for _, h := range b.v.Holders {
		d.new(h.String(), h.String(), h.Bytes, h.Count)
	}
	if t := changedTable("The references that keep live memory alive at each run's end, "+lengths(a.v, b.v),
		"held by", d.sorted()); t != nil {
		s.blocks = []block{{table: t}}
	}
	return s
}

// lengths says how long the runs were, without which their ends do not compare.
func lengths(a, b *verdict.Verdict) string {
	if a.Window.Steps > 0 && b.Window.Steps > 0 {
		return fmt.Sprintf("after %s and %s steps", units.Count(a.Window.Steps), units.Count(b.Window.Steps))
	}
	return fmt.Sprintf("after %s and %s", units.Seconds(a.Window.ToMs/1000),
		units.Seconds(b.Window.ToMs/1000))
}

// changes pairs the things of two runs: by their whole name, else by a name
// that survives edits.
type changes struct {
	list []changed
	at   map[string]int // both names of base's things
}

func (d *changes) base(name, lasting string, bytes, count int64) {
	k, known := d.at[name]
	if !known {
		k = len(d.list)
		d.list = append(d.list, changed{name: clean(name, maxName), inBase: true})
		d.at[name] = k
		if _, taken := d.at[lasting]; !taken {
			d.at[lasting] = k
		}
	}
	d.list[k].base += float64(bytes)
	d.list[k].baseCount += count
}

func (d *changes) new(name, lasting string, bytes, count int64) {
	k, known := d.at[name]
	if !known {
		k, known = d.at[lasting]
	}
	if !known {
		k = len(d.list)
		d.list = append(d.list, changed{})
		d.at[name] = k
	}
	c := &d.list[k]
	c.name, c.inNew = clean(name, maxName), true
	c.new += float64(bytes)
	c.newCount += count
}

// sorted is largest difference first, then by name.
func (d *changes) sorted() []changed {
	slices.SortStableFunc(d.list, func(a, b changed) int {
		return cmp.Or(cmp.Compare(math.Abs(b.new-b.base), math.Abs(a.new-a.base)),
			cmp.Compare(a.name, b.name))
	})
	return d.list
}

// changedCauses are the causes that only one of the runs has, and those that
// both have.
func changedCauses(d *verdict.Difference) section {
	s := section{id: "causes", title: "Causes"}
	if d.Base == nil || d.New == nil {
		return s
	}
	var list []string
	for _, c := range d.New.Causes {
		word := "new: "
		if hasCause(d.Base, c.ID) {
			word = "in both: "
		}
		list = append(list, word+clean(c.ID, maxName))
		for _, e := range c.Evidence[:min(len(c.Evidence), maxRows)] {
			list = append(list, clean(c.ID, maxName)+": "+clean(e, maxLine))
		}
		if c.Next != "" {
			list = append(list, "Next: "+clean(c.Next, maxLine))
		}
	}
	for _, c := range d.Base.Causes {
		if !hasCause(d.New, c.ID) {
			list = append(list, "gone: "+clean(c.ID, maxName))
		}
	}
	if len(list) > 0 {
		s.blocks = []block{{list: list}}
	}
	return s
}

func hasCause(v *verdict.Verdict, id string) bool {
	return slices.ContainsFunc(v.Causes, func(c verdict.Cause) bool { return c.ID == id })
}

// changedEnvironment is what differs between the two runs' environments. Names
// of the moment, when a run started and how long it took, always differ.
func changedEnvironment(a, b judgedSide) section {
	s := section{id: "environment", title: "Environment that differs"}
	t := &table{caption: "What run.json says of the two runs, where it differs.",
		head: []column{{title: "name"}, {title: "base"}, {title: "new"}}}
	inBase := map[string]string{}
	before, after := environmentOf(&a.run.Meta), environmentOf(&b.run.Meta)
	for _, p := range before {
		inBase[p.name] = p.value
	}
	add := func(name, x, y string) {
		if x != y && name != "started" && name != "ran for" {
			t.rows = append(t.rows, []string{name, orUnknown(x), orUnknown(y)})
		}
	}
	seen := map[string]bool{}
	for _, p := range after {
		seen[p.name] = true
		add(p.name, inBase[p.name], p.value)
	}
	for _, p := range before {
		if !seen[p.name] {
			add(p.name, p.value, "")
		}
	}
	if len(t.rows) > 0 {
		s.blocks = []block{{table: t}}
	}
	return s
}

func orUnknown(s string) string {
	if s == "" {
		return units.Unknown
	}
	return s
}
