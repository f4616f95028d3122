package tensor

import (
	"cmp"
	"slices"
	"strings"
)

// Holder is a group of live tensors and what keeps them.
type Holder struct {
	// Path is what keeps them and what they are for ("graph: sum_axis", "scope:
	// loss", "kept: board"), or the container that they were kept in.
	Path  string
	Bytes int64
	Count int64
}

// Holders groups the live tensors by what keeps them: a graph node that will
// read them, an open scope, a container that KeepIn named, or the program
// itself. Most bytes first. Safe to call while the runtime works.
func (rt *Runtime) Holders() []Holder {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	groups := map[string]*Holder{}
	for t := range rt.alive {
		path := t.holder
		switch path {
		case heldByGraph, heldByScope, heldByProgram:
			path += ": " + t.name
		}
		g := groups[path]
		if g == nil {
			g = &Holder{Path: path}
			groups[path] = g
		}
		g.Count++
		g.Bytes += int64(elements(t.shape) * t.size)
	}
	list := make([]Holder, 0, len(groups))
	for _, g := range groups {
		list = append(list, *g)
	}
	slices.SortFunc(list, func(a, b Holder) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), strings.Compare(a.Path, b.Path))
	})
	return list
}

// LiveTensors is the number of tensors that hold a reference.
func (rt *Runtime) LiveTensors() int64 {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return int64(len(rt.alive))
}
