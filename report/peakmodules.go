package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/peak"
)

// modulesBlocks say what modules of the model had at the peak; none where nobody told.
func modulesBlocks(p *peak.Peak) []block {
	t := modulesTable("Live at the peak, by the innermost module of the model.", p.Modules, p.Bytes)
	if t == nil {
		return nil
	}
	blocks := []block{{icicle: modulesIcicle(p), table: t}}
	if p.NoModules != "" {
		blocks = append(blocks, block{text: fmt.Sprintf("Activations have no module: the program uses %s, "+
			"which would compile what notes them into the program.", clean(p.NoModules, 60))})
	}
	return blocks
}

// mostModules bounds the rows by module.
const mostModules = 14

// moduleColumns are the categories that have a column of their own.
func moduleColumns() []string {
	return []string{"activations", "parameters", "gradients", "optimizer state"}
}

// moduleRow is a module, or those that differ in a number only and have about as much.
type moduleRow struct {
	name  string
	count int // of modules
	by    map[string]int64
	bytes int64
}

// modulesTable has the modules that have most. Layers, whose paths differ in a number,
// come together as transformer.h.*.mlp unless one of them has more than twice the mean.
// Paths are cut until there are few enough rows. The rows and what has no module sum to
// the whole. nil without modules.
func modulesTable(caption string, owned []peak.Owned, whole int64) *table {
	rows := moduleRows(owned)
	if len(rows) == 0 {
		return nil
	}
	t := &table{caption: caption, zeros: "Nothing",
		head: []column{{title: "module"}, {title: "modules", right: true}}}
	sums, rest := map[string]int64{}, whole
	for _, r := range rows {
		rest -= r.bytes
		for name, bytes := range r.by {
			sums[name] += bytes
		}
	}
	var shown []string
	for _, name := range moduleColumns() {
		if sums[name] > 0 {
			shown = append(shown, name)
			t.head = append(t.head, column{title: name, right: true})
		}
	}
	t.head = append(t.head, column{title: "all", right: true})
	for _, r := range rows {
		cells := []string{clean(r.name, maxName), units.Count(int64(r.count))}
		for _, c := range shown {
			cells = append(cells, units.Bytes(r.by[c]))
		}
		t.rows = append(t.rows, append(cells, units.Bytes(r.bytes)))
	}
	foot := func(name string, bytes int64) {
		cells := append([]string{name}, make([]string, len(shown)+1)...)
		t.foot = append(t.foot, append(cells, units.Bytes(bytes)))
	}
	if rest > 0 {
		foot("no module", rest)
	}
	foot("sum", whole)
	return t
}

// moduleRows are the rows of a table by module, largest first.
func moduleRows(owned []peak.Owned) []moduleRow {
	deepest := 0
	for _, o := range owned {
		deepest = max(deepest, strings.Count(o.Module, ".")+1)
	}
	var rows []moduleRow
	for depth := deepest; depth > 0; depth-- {
		if rows = likeRows(exactRows(owned, depth)); len(rows) <= mostModules {
			break
		}
	}
	slices.SortFunc(rows, func(a, b moduleRow) int {
		return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.name, b.name))
	})
	if len(rows) > mostModules {
		others := moduleRow{name: "others", by: map[string]int64{}}
		for _, r := range rows[mostModules-1:] {
			others.add(r)
		}
		rows = append(rows[:mostModules-1], others)
	}
	return rows
}

func (r *moduleRow) add(more moduleRow) {
	r.count += more.count
	r.bytes += more.bytes
	for name, bytes := range more.by {
		r.by[name] += bytes
	}
}

// exactRows has a row a module, with all that is below it from a depth on.
func exactRows(owned []peak.Owned, depth int) []moduleRow {
	at, seen := map[string]int{}, map[string]bool{}
	var rows []moduleRow
	for _, o := range owned {
		names := strings.Split(o.Module, ".")
		path := strings.Join(names[:min(depth, len(names))], ".")
		k, ok := at[path]
		if !ok {
			k = len(rows)
			at[path] = k
			rows = append(rows, moduleRow{name: path, by: map[string]int64{}})
		}
		one := moduleRow{by: map[string]int64{o.Category: o.Bytes}, bytes: o.Bytes}
		if !seen[o.Module] {
			seen[o.Module], one.count = true, 1
		}
		rows[k].add(one)
	}
	return rows
}

// likeRows puts rows together whose names differ in numbers only.
func likeRows(rows []moduleRow) []moduleRow {
	like, order := map[string][]moduleRow{}, []string{}
	for _, r := range rows {
		names := strings.Split(r.name, ".")
		for i, name := range names {
			if name != "" && strings.Trim(name, "0123456789") == "" {
				names[i] = "*"
			}
		}
		pattern := strings.Join(names, ".")
		if like[pattern] == nil {
			order = append(order, pattern)
		}
		like[pattern] = append(like[pattern], r)
	}
	var out []moduleRow
	for _, pattern := range order {
		all, sum := like[pattern], moduleRow{name: pattern, by: map[string]int64{}}
		most := int64(0)
		for _, r := range all {
			sum.add(r)
			most = max(most, r.bytes)
		}
		if len(all) < 2 || most > 2*sum.bytes/int64(len(all)) {
			out = append(out, all...)
			continue
		}
		out = append(out, sum)
	}
	return out
}

// modulesIcicle draws what modules had at the peak by their paths, then by the line
// that allocated it.
func modulesIcicle(p *peak.Peak) *icicle {
	root := &node{partsByNames: map[string]*node{}}
	rest := p.Bytes
	for _, o := range p.Modules {
		rest -= o.Bytes
		names := strings.Split(clean(o.Module, maxName), ".")
		if most := maxLevels - 2; len(names) > most { // one level is the whole, one the line
			names = append(names[:most-1:most-1], strings.Join(names[most-1:], "."))
		}
		line := o.Category
		if o.Site != "" {
			line += " " + strings.Join(siteParts(o.Site), " ")
		}
		root.add(append(names, clean(line, maxName)), float64(o.Bytes), 0, o.Count)
	}
	if rest > 0 {
		root.add([]string{"no module"}, float64(rest), 0, 0)
	}
	return root.draw("The peak by module and line", "all that lived at the peak")
}
