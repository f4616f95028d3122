package peak

import (
	"cmp"
	"slices"
	"strings"
)

// Owned is memory of one category that a module of the model has, or one below it:
// its parameters, their gradients and state, and what its forward pass allocated.
type Owned struct {
	Module   string `json:"module"` // such as transformer.h.3.mlp
	Category string `json:"category"`
	Site     string `json:"site,omitempty"` // that allocated it; empty where it is not told
	Bytes    int64  `json:"bytes"`
	Count    int64  `json:"count,omitempty"`
}

// maxOwned bounds Peak.Modules.
const maxOwned = 300

// In the place of a module's number in record.Window.Calls.
const callEnd = -1

// findModules gives blocks their module: that of their owner, which the program named,
// else that of the innermost module whose forward pass ran when they were allocated.
func (r *replay) findModules() {
	for i := range r.blocks {
		r.blocks[i].module = -1
	}
	if len(r.Modules) == 0 {
		return
	}
	r.findOwners()
	calls := r.readCalls()
	if len(calls) == 0 {
		return
	}
	for i := range r.blocks {
		b := &r.blocks[i]
		if b.module < 0 && b.birth >= 0 && !r.isNative(b.stack) {
			b.module = calls.at(r.Events[b.birth][2], r.depth(b.stack))
		}
	}
}

// findOwners heeds what the program told of blocks that lived at some moments.
func (r *replay) findOwners() {
	by := map[int64][]int{} // blocks by address
	for i := range r.blocks {
		by[r.blocks[i].at] = append(by[r.blocks[i].at], i)
	}
	for _, o := range r.Owners {
		if o[1] < 0 || o[1] >= int64(len(r.Modules)) {
			continue
		}
		after := r.eventAt(o[2])
		for _, i := range by[o[0]] {
			if b := &r.blocks[i]; b.isAt(after) {
				b.module = int(o[1])
			}
		}
	}
}

// eventAt is the last event before a moment of record.Window.Owners.
func (r *replay) eventAt(moment int64) int {
	switch {
	case moment < 0:
		return -1
	case moment >= int64(len(r.Boundaries)):
		return len(r.Events) - 1
	}
	end := r.Boundaries[moment]
	k, _ := slices.BinarySearchFunc(r.Events, end, func(e [4]int64, at int64) int {
		if e[2] <= at {
			return -1
		}
		return 1
	})
	return k - 1
}

// running is the modules whose forward pass runs from a time on.
type running struct {
	from   int64
	module int // the innermost, -1 without one
	depth  int // how many run
}

// calls are in the order of their times.
type calls []running

// readCalls follows the forward passes of all threads. Where two threads run modules
// at once nobody can say which of them allocated.
func (r *replay) readCalls() calls {
	var out calls
	stacks := map[int64][]int{}
	busy, step := 0, 0
	for _, c := range r.Calls {
		for step < len(r.Boundaries) && c[0] > r.Boundaries[step] {
			clear(stacks) // an exception left modules without an end
			busy = 0
			step++
		}
		stack := stacks[c[2]]
		switch {
		case c[1] != callEnd:
			module := int(c[1])
			if module < 0 || module >= len(r.Modules) {
				module = -1
				if len(stack) > 0 {
					module = stack[len(stack)-1]
				}
			}
			if len(stack) == 0 {
				busy++
			}
			stack = append(stack, module)
		case len(stack) > 0:
			stack = stack[:len(stack)-1]
			if len(stack) == 0 {
				busy--
			}
		}
		stacks[c[2]] = stack
		out = append(out, innermost(stacks, busy, c[0]))
	}
	return out
}

// innermost is what runs from a time on, when so many threads run modules.
func innermost(stacks map[int64][]int, busy int, from int64) running {
	now := running{from: from, module: -1}
	if busy != 1 {
		now.depth = -busy // matches no stack's
		return now
	}
	for _, stack := range stacks {
		if len(stack) > 0 {
			now.module, now.depth = stack[len(stack)-1], len(stack)
		}
	}
	return now
}

// near is how far the clocks of the calls and of the allocator are taken to differ at
// most, in microseconds.
const near = 50

// at is the module that runs at a time. depth is how many modules the allocation's
// stack shows, -1 for unknown: of what ran about then, the nearest of that depth
// counts.
func (c calls) at(when int64, depth int) int {
	k, _ := slices.BinarySearchFunc(c, when, func(r running, at int64) int {
		if r.from <= at {
			return -1
		}
		return 1
	})
	k--
	if depth < 0 || k >= 0 && c[k].depth == depth {
		if k < 0 {
			return -1
		}
		return c[k].module
	}
	if depth == 0 {
		return -1
	}
	for off := 1; off <= 6; off++ {
		for _, i := range [2]int{k - off, k + off} {
			if i < 0 || i >= len(c) || c[i].depth != depth {
				continue
			}
			if i > k && c[i].from-when <= near || i < k && when-c[i+1].from <= near {
				return c[i].module
			}
		}
	}
	return -1
}

// whole is how many frames of a stack are told at most.
const whole = 32

// depth is how many modules run in a stack, -1 where its outer frames are not told.
func (r *replay) depth(stack int64) int {
	n := 0
	frames := r.Stacks[stack]
	if len(frames) >= whole {
		return -1
	}
	for _, f := range frames {
		file, function, _ := strings.Cut(strings.ReplaceAll(r.frame(f), `\`, "/"), ".py:")
		if strings.HasSuffix(function, " _call_impl") && strings.HasSuffix(file, "/nn/modules/module") {
			n++
		}
	}
	return n
}

// module is the path of a block's module, empty without one.
func (r *replay) module(b *lived) string {
	if b.module < 0 {
		return ""
	}
	return r.Modules[b.module]
}

// owned is what modules had at the peak, largest first.
func (r *replay) owned() []Owned {
	type key struct {
		module         int
		category, site string
	}
	at := map[key]int{}
	var out []Owned
	for i := range r.blocks {
		b := &r.blocks[i]
		if b.module < 0 || !b.isAt(r.top) {
			continue
		}
		k := key{b.module, b.role, r.site(b)}
		n, ok := at[k]
		if !ok {
			n = len(out)
			at[k] = n
			out = append(out, Owned{Module: r.module(b), Category: b.role, Site: k.site})
		}
		out[n].Bytes += b.size
		out[n].Count++
	}
	return fewer(out)
}

// fewer are at most maxOwned parts, without a byte less: parts of one module come
// together, then those of the modules below one.
func fewer(parts []Owned) []Owned {
	depth := 0
	for _, p := range parts {
		depth = max(depth, strings.Count(p.Module, ".")+1)
	}
	for ; len(parts) > maxOwned; depth-- {
		parts = together(parts, depth)
		if depth <= 0 {
			break
		}
	}
	slices.SortFunc(parts, func(a, b Owned) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Module, b.Module),
			cmp.Compare(a.Category, b.Category), cmp.Compare(a.Site, b.Site))
	})
	return parts
}

// together adds up the parts of one category whose modules begin with the same names,
// up to a depth of at least one.
func together(parts []Owned, depth int) []Owned {
	at := map[[2]string]int{}
	var out []Owned
	for _, p := range parts {
		names := strings.Split(p.Module, ".")
		module := strings.Join(names[:min(max(depth, 1), len(names))], ".")
		n, ok := at[[2]string{module, p.Category}]
		if !ok {
			n = len(out)
			at[[2]string{module, p.Category}] = n
			out = append(out, Owned{Module: module, Category: p.Category})
		}
		out[n].Bytes += p.Bytes
		out[n].Count += p.Count
	}
	return out
}
