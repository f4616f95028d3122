package tensor

import (
	"slices"
	"sync"
)

// Holder is a group of live tensors and what keeps them.
type Holder struct {
	// Path is what keeps them and what they are for ("graph: sum_axis", "scope:
	// loss", "kept: board"), or the container that they were kept in.
	Path  string
	Bytes int64
	Count int64
}

// live is the set of tensors that hold a reference, and what is said of each: what keeps
// it and what it is to the program. Any goroutine may use it.
type live struct {
	mu      sync.Mutex // also guards holder and role of each tensor
	tensors map[*Tensor]struct{}
	made    uint64 // how many ever were: the id of the last
}

// add takes a new tensor up and gives it its id.
func (l *live) add(t *Tensor) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tensors == nil {
		l.tensors = map[*Tensor]struct{}{}
	}
	l.tensors[t] = struct{}{}
	l.made++
	t.id = l.made
}

func (l *live) remove(t *Tensor) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.tensors, t)
}

// keep says what keeps a tensor.
func (l *live) keep(t *Tensor, holder string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.holder = holder
}

// say says what a tensor is to the program.
func (l *live) say(t *Tensor, r Role) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.role = r
}

func (l *live) count() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int64(len(l.tensors))
}

// byHolder adds the tensors up by what keeps them, in no order.
func (l *live) byHolder() []Holder {
	l.mu.Lock()
	defer l.mu.Unlock()
	groups := map[string]*Holder{}
	for t := range l.tensors {
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
	return list
}

// byRole adds up the memory of tensors by role, all of it, and what of it nobody asked
// for. The mu is held.
func (l *live) byRole() (sums map[Role]int64, charged, rounded int64) {
	best := map[uint64]*Tensor{} // by memory
	for t := range l.tensors {
		b := best[t.memory]
		if b == nil || slices.Index(order[:], t.roleOf()) < slices.Index(order[:], b.roleOf()) {
			best[t.memory] = t
		}
	}
	sums = map[Role]int64{}
	for _, t := range best {
		length := int64(elements(t.shape) * t.size)
		pages := length
		if h, ok := t.store.(*handle); ok {
			if b := h.Buffer(); b != nil {
				pages = int64(b.AllocatedSize())
			}
		}
		sums[t.roleOf()] += pages
		rounded += max(pages-length, 0)
		charged += pages
	}
	return sums, charged, rounded
}
