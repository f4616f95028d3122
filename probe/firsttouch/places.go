package firsttouch

import (
	"cmp"
	"encoding/binary"
	"slices"
)

const (
	// maxPlaces bounds the chains that are told apart.
	maxPlaces = 4096
	// listedPlaces bounds those that are told.
	listedPlaces = 24
	// longestChain bounds the callers of one, and scannedCallers those that are found on
	// the stack.
	longestChain   = 8
	scannedCallers = 3
)

// Place is code that touched pages, or had a run-time library do it, and its callers.
type Place struct {
	Chain []Spot  // the code first, then who called it, as far as that is known
	Share float64 // of all sampled faults
}

// Spot is an instruction in a file.
type Spot struct {
	Path   string
	Offset uint64 // of a call that of its last byte
}

// chain is a Place's, without the memory of a slice.
type chain [longestChain]Spot

// spotOf is where code of a segment lies in its file. Of a call the address is the one
// that it returns to. False where there is no file.
func (g *segment) spotOf(address uint64, called bool) (Spot, bool) {
	if g == nil || g.path == "" || address < g.start {
		return Spot{}, false
	}
	if called {
		address--
	}
	return Spot{g.path, address - g.start + g.offset}, true
}

// chainOf is the code that touched a page for an owner, and its callers. Return addresses
// on the stack come before the chain of frame pointers, which without them skips some or
// ends in noise. Either may have one that was left there by an earlier call.
func (s *space) chainOf(x *sample, owner *segment, at uint64, how Method) (c chain, ok bool) {
	if c[0], ok = owner.spotOf(at, how != ByLeaf); !ok {
		return c, false
	}
	n := 1
	add := func(address uint64) {
		g := s.code(address)
		if g == nil || g.serves || n == len(c) {
			return
		}
		if spot, ok := g.spotOf(address, true); ok && !slices.Contains(c[:n], spot) {
			c[n] = spot
			n++
		}
	}
	if how != ByChain {
		for i := 0; i+8 <= len(x.stack) && n <= scannedCallers; i += 8 {
			add(binary.NativeEndian.Uint64(x.stack[i:]))
		}
	}
	for _, address := range x.frames[min(1, len(x.frames)):] {
		add(address)
	}
	return c, true
}

// at charges a chain with faults.
func (t *tally) at(c chain, weight uint64) {
	if _, known := t.chains[c]; known || len(t.chains) < maxPlaces {
		t.chains[c] += weight
	}
}

// places are the chains by share, those with most first.
func (t *tally) places() []Place {
	var list []Place
	for c, weight := range t.chains {
		p := Place{Share: float64(weight) / float64(t.weight)}
		for _, spot := range c {
			if spot.Path != "" {
				p.Chain = append(p.Chain, spot)
			}
		}
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b Place) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share),
			slices.CompareFunc(a.Chain, b.Chain, func(a, b Spot) int {
				return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Offset, b.Offset))
			}))
	})
	return list[:min(len(list), listedPlaces)]
}
