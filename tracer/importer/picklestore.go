package importer

import (
	"fmt"
	"math/bits"
	"slices"
)

// container makes a list, tuple or dict of a copy of vs.
func (p *pickle) container(kind value, vs []value) value {
	return value(p.idents.add(p.store(vs)))<<4 | kind
}

// sharedItems is the most items that are compared with others: a stack of
// calls, or a dict that describes a frame.
const sharedItems = 128

// store keeps a copy of vs, or finds one, and returns its index.
func (p *pickle) store(vs []value) uint32 {
	if len(vs) == 0 {
		return 0
	}
	if len(vs) > sharedItems {
		return p.newItems(append([]value(nil), vs...)) | ownItems
	}
	h := p.hash(vs)
	if i, ok := p.shared[h]; ok && p.equal(p.items[i], vs) {
		return i
	}
	p.cells += 4
	i := p.newItems(p.keep(vs))
	p.shared[h] = i
	return i
}

func (p *pickle) newItems(vs []value) uint32 {
	p.items = append(p.items, vs)
	p.cells += int64(len(vs)) + 3
	return uint32(len(p.items) - 1)
}

// content is v with a container's identity replaced by what stands in it.
func (p *pickle) content(v value) value {
	switch v.kind() {
	case kindList, kindTuple, kindDict:
		return value(p.idents.at(v.index()))<<4 | v.kind()
	}
	return v
}

func (p *pickle) hash(vs []value) uint64 {
	h := uint64(len(vs))
	for _, v := range vs {
		h = bits.RotateLeft64((h^uint64(p.content(v)))*0x9E3779B97F4A7C15, 29)
	}
	return h
}

func (p *pickle) equal(a, b []value) bool {
	return slices.EqualFunc(a, b, func(a, b value) bool { return a == b || p.content(a) == p.content(b) })
}

// keep copies vs out of the stack into a slab, because a snapshot consists of
// many small containers.
func (p *pickle) keep(vs []value) []value {
	const slab = 1 << 13
	if len(vs) > len(p.slab) {
		p.slab = make([]value, slab)
	}
	out := p.slab[:len(vs):len(vs)]
	p.slab = p.slab[len(vs):]
	copy(out, vs)
	return out
}

// extend adds vs to the container c.
func (p *pickle) extend(c value, kind value, vs []value) error {
	if c.kind() != kind || kind == kindDict && len(vs)%2 != 0 {
		return fmt.Errorf("%w: items for what takes none", errPickle)
	}
	switch ident := p.idents.at(c.index()); {
	case c == takenDict: // what is added to one that was taken is lost with it
	case ident == 0 || ident == takenItems:
		p.idents.set(c.index(), p.store(vs))
	case ident&ownItems != 0:
		i := ident &^ ownItems
		p.items[i] = append(p.items[i], vs...)
		p.cells += int64(len(vs))
	default:
		p.idents.set(c.index(), p.newItems(slices.Concat(p.items[ident], vs))|ownItems)
	}
	return nil
}

// inside are the items of a container.
func (p *pickle) inside(c value) []value {
	return p.items[p.idents.at(c.index())&^ownItems]
}
