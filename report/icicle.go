package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/tracer/record"
)

// icicle is a picture of what holds how many bytes: a row of boxes a level, as
// wide as what they hold, each below the box it is part of.
type icicle struct {
	title, desc string
	levels      int
	boxes       []box
}

// box is one part: place and width are shares of the whole.
type box struct {
	level      int
	at, wide   float64
	name, full string // full is for who points at the box: the whole name and its bytes
	grows      bool   // it gained bytes
}

// Bounds of an icicle: names are cut into at most maxLevels parts, and what is
// narrower than leastWide is drawn as one box with its like.
const (
	maxLevels = 5
	leastWide = 0.006
)

// node is a part and what it is made of.
type node struct {
	name, full   string
	bytes        float64
	growth       float64
	count        int64
	parts        []*node
	partsByNames map[string]*node
}

// add puts bytes under the path of names.
func (n *node) add(path []string, bytes, growth float64, count int64) {
	n.bytes, n.growth, n.count = n.bytes+bytes, n.growth+growth, n.count+count
	if len(path) == 0 {
		return
	}
	next := n.partsByNames[path[0]]
	if next == nil {
		next = &node{name: path[0], full: strings.TrimSpace(n.full + " " + path[0]),
			partsByNames: map[string]*node{}}
		n.partsByNames[path[0]] = next
		n.parts = append(n.parts, next)
	}
	next.add(path[1:], bytes, growth, count)
}

// sitesIcicle draws survivors by file, then by line and function.
func sitesIcicle(sites []record.Site) *icicle {
	root := &node{partsByNames: map[string]*node{}}
	for _, s := range sites {
		if s.Bytes > 0 {
			root.add(siteParts(s.Site), float64(s.Bytes), float64(s.GrowthBytes), s.Count)
		}
	}
	return root.draw("Survivors by file and line", "all survivors")
}

// holdersIcicle draws holders by the parts of their paths.
func holdersIcicle(holders []record.Holder) *icicle {
	root := &node{partsByNames: map[string]*node{}}
	for _, h := range holders {
		if h.Bytes > 0 {
			root.add(holderParts(h.String()), float64(h.Bytes), 0, h.Count)
		}
	}
	return root.draw("Holders by their paths", "all that is held")
}

// siteParts are the folder and file of "file:line func", and the rest.
func siteParts(site string) []string {
	place, name, _ := strings.Cut(clean(site, maxName), " ")
	file, line, ok := strings.Cut(place, ":")
	if !ok || file == "" || name == "" {
		return []string{clean(site, maxName)}
	}
	return []string{base(file), "line " + line + " " + base(name)}
}

// holderParts takes "kind: a.b[…].c" apart.
func holderParts(path string) []string {
	path = clean(path, maxName)
	var parts []string
	if kind, rest, ok := strings.Cut(path, ": "); ok {
		parts, path = append(parts, kind), rest
	}
	if strings.HasPrefix(path, "a reference cycle") { // the attributes that it goes through are no path
		return append(parts, path)
	}
	for len(path) > 0 && len(parts) < maxLevels-1 {
		i := strings.IndexAny(path[1:], ".[")
		if i < 0 {
			break
		}
		parts, path = append(parts, path[:i+1]), path[i+1:]
	}
	if path != "" {
		parts = append(parts, path)
	}
	return parts
}

// draw lays the boxes out; nil when there is nothing to compare.
func (n *node) draw(title, all string) *icicle {
	if n.bytes <= 0 || len(n.parts) == 0 {
		return nil
	}
	n.name, n.full = all, all
	ic := &icicle{title: title}
	n.place(ic, 0, 0, 1, n.bytes)
	largest := n.parts[0] // place has sorted them
	ic.desc = fmt.Sprintf("%s: %s in %d parts, the largest %s with %s.", title, units.Bytes(n.bytes),
		len(n.parts),
		largest.name, units.Percent(largest.bytes/n.bytes))
	return ic
}

func (n *node) place(ic *icicle, level int, at, wide, whole float64) {
	ic.levels = max(ic.levels, level+1)
	ic.boxes = append(ic.boxes, box{level: level, at: at, wide: wide, name: n.name, grows: n.growth > 0,
		full: n.label()})
	if level+1 == maxLevels {
		return
	}
	slices.SortStableFunc(n.parts, func(a, b *node) int { return cmp.Compare(b.bytes, a.bytes) })
	for i, p := range n.parts {
		share := p.bytes / whole
		if rest := n.parts[i:]; share < leastWide && len(rest) > 1 {
			small := &node{name: "…", full: fmt.Sprintf("%s %d smaller ones", n.full, len(rest))}
			for _, r := range rest {
				small.bytes, small.count = small.bytes+r.bytes, small.count+r.count
			}
			ic.levels = max(ic.levels, level+2)
			ic.boxes = append(ic.boxes, box{level: level + 1, at: at, wide: small.bytes / whole,
				name: small.name, full: small.label()})
			return
		}
		p.place(ic, level+1, at, share, whole)
		at += share
	}
}

func (n *node) label() string {
	s := n.full + ": " + units.Bytes(n.bytes)
	if n.count > 0 {
		s += ", " + units.Count(n.count)
	}
	if n.growth > 0 {
		s += ", grew by " + units.Bytes(n.growth)
	}
	return s
}
