package peak

import (
	"cmp"
	"slices"
	"strings"
)

// Part is memory of one category that one stack allocated.
type Part struct {
	Category string
	Module   string // of the model, such as transformer.h.3.mlp; empty without one
	// Stack are the frames, "file:line function", outermost first: the program's
	// stack, or one frame in words where there is none.
	Stack []string
	Bytes int64
	Count int64
}

// AtPeak is what lived at the peak, by category and stack, in the order of both. The
// parts sum to Bytes. It is empty for a peak that was read back from a file, which has
// no stacks.
func (p *Peak) AtPeak() []Part {
	return p.parts(func(r *replay, b *lived) bool { return b.isAt(r.top) })
}

// Allocated is all that the window's steps allocated, whether it was freed or not, as
// AtPeak has it: its bytes are those that passed through the allocator.
func (p *Peak) Allocated() []Part {
	return p.parts(func(_ *replay, b *lived) bool { return b.birth >= 0 })
}

func (p *Peak) parts(counts func(*replay, *lived) bool) []Part {
	if p == nil || p.replay == nil {
		return nil
	}
	type key struct {
		role   string
		stack  int64
		module int
	}
	r, at := p.replay, map[key]int{}
	var out []Part
	for i := range r.blocks {
		b := &r.blocks[i]
		if !counts(r, b) {
			continue
		}
		k := key{b.role, b.stack, b.module}
		if b.birth < 0 {
			k.stack = -2 // apart from those without a frame
		} else if r.isNative(b.stack) {
			k.stack = -1
		}
		n, ok := at[k]
		if !ok {
			n = len(out)
			at[k] = n
			out = append(out, Part{Category: b.role, Module: r.module(b), Stack: r.stackOf(b)})
		}
		out[n].Bytes += b.size
		out[n].Count++
	}
	slices.SortFunc(out, func(a, b Part) int {
		return cmp.Or(cmp.Compare(a.Category, b.Category), cmp.Compare(a.Module, b.Module),
			slices.Compare(a.Stack, b.Stack))
	})
	return out
}

// stackOf are the frames of a block's stack, outermost first.
func (r *replay) stackOf(b *lived) []string {
	if b.birth < 0 || r.isNative(b.stack) {
		return []string{r.site(b)}
	}
	var frames []string
	for _, f := range slices.Backward(r.Stacks[b.stack]) {
		frames = append(frames, r.frame(f))
	}
	return frames
}

// Change is by how much the live bytes of a category changed at a time of the window,
// and what they were then.
type Change struct {
	Ms       float64
	Category string
	Live     int64
}

// Course tells every change of live bytes in the window, in order: first what each
// category had before it, at the time 0. Of several changes of a category at one
// event the last is told. It tells nothing for a peak that was read back from a file.
func (p *Peak) Course(tell func(Change)) {
	if p == nil || p.replay == nil || len(p.replay.Events) == 0 {
		return
	}
	r, now := p.replay, map[string]int64{}
	changes := make([][]*lived, len(r.Events))
	for i := range r.blocks {
		b := &r.blocks[i]
		if b.birth < 0 {
			now[b.role] += b.size
		} else {
			now[b.role] += 0
			changes[b.birth] = append(changes[b.birth], b)
		}
		if b.death < len(changes) {
			changes[b.death] = append(changes[b.death], b)
		}
	}
	var names []string
	for name := range now {
		names = append(names, name)
	}
	slices.SortFunc(names, strings.Compare)
	for _, name := range names {
		tell(Change{0, name, now[name]})
	}
	for i, blocks := range changes {
		for k, b := range blocks {
			if b.birth == i {
				now[b.role] += b.size
			} else {
				now[b.role] -= b.size
			}
			if k+1 == len(blocks) || blocks[k+1].role != b.role {
				tell(Change{float64(r.Events[i][2]) / 1000, b.role, now[b.role]})
			}
		}
	}
}
