package tensor

import (
	"cmp"
	"slices"
)

// Role is what memory is to a program, in the words of a composition.
type Role string

// The roles, in the order in which the first that fits counts for memory that several
// tensors share.
const (
	Parameters  Role = "parameters"
	Gradients   Role = "gradients"
	Optimizer   Role = "optimizer state"
	Buffers     Role = "buffers"
	KVCache     Role = "KV cache"
	Activations Role = "activations"
	Inputs      Role = "inputs"
	Temporaries Role = "temporaries"
	Kept        Role = "kept by the program"
)

// What is live and no tensor's.
const (
	// InFlight is given up, and a command still uses it.
	InFlight Role = "given up, the device still at work"
	// NoTensor is of no tensor: parameters of commands, and what a program took of the
	// pool itself.
	NoTensor Role = "of no tensor"
)

var order = [...]Role{
	Parameters, Gradients, Optimizer, Buffers, KVCache, Activations, Inputs, Temporaries, Kept,
}

// As says what the tensor is to the program.
func (t *Tensor) As(r Role) *Tensor {
	t.rt.live.say(t, r)
	return t
}

// roleOf is what a tensor is: what was said of it, else what keeps it says it. The
// mu of the live tensors is held.
func (t *Tensor) roleOf() Role {
	switch {
	case t.role != "":
		return t.role
	case t.holder == heldByGraph:
		return Activations
	case t.holder == heldByScope:
		return Temporaries
	}
	return Kept
}

// Part is memory of one role.
type Part struct {
	Role  Role
	Bytes int64
}

// Made is what live memory is made of. Parts sum to Bytes, which is what Stats calls
// LiveBytes.
type Made struct {
	Parts []Part
	Bytes int64
	// Rounded is the part of the tensors' bytes that nobody asked for: what the pool's
	// classes and the device's pages add to lengths.
	Rounded int64
	// Idle memory of the pool: IdleBytes in IdleCount buffers, the largest of Largest.
	// Each is a whole buffer, which the pool can give back.
	IdleBytes, IdleCount, Largest int64
}

// Composition is what live memory is made of now. labels are the roles of memory that
// the program takes of the pool itself, by its label. It may be called from any goroutine.
func Composition(rt *Runtime, labels map[string]Role) Made {
	rt.live.mu.Lock()
	defer rt.live.mu.Unlock() // no tensor gives its memory up meanwhile
	sums, charged, rounded := rt.live.byRole()
	m := Made{Rounded: rounded}
	rest := int64(0)
	switch d := rt.machine.(type) {
	case *device:
		s := d.pool.Stats()
		m.IdleBytes, m.IdleCount = int64(s.Idle.PageBytes), int64(s.Idle.Count)
		for _, c := range d.pool.Classes() {
			if c.Idle > 0 {
				m.Largest = max(m.Largest, int64(c.Class.Bytes))
			}
		}
		sums[InFlight] = int64(s.Pending.PageBytes)
		rest = max(int64(s.Live.PageBytes)-charged, 0)
		for _, own := range d.pool.Survivors() {
			if role := labels[own.Label]; role != "" {
				part := min(int64(own.PageBytes), rest)
				sums[role] += part
				rest -= part
			}
		}
	case *host:
		rest = max(d.bytes.Load()-charged, 0)
	}
	sums[NoTensor] = rest
	for role, bytes := range sums {
		if bytes > 0 {
			m.Parts = append(m.Parts, Part{role, bytes})
			m.Bytes += bytes
		}
	}
	slices.SortFunc(m.Parts, func(a, b Part) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Role, b.Role))
	})
	return m
}
