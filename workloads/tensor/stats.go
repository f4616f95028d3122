package tensor

import (
	"cmp"
	"slices"
	"strings"
)

// Stats is what a runtime holds and has done. Bytes are whole pages on a
// device; memory that a command in flight still uses counts as live.
type Stats struct {
	LiveBytes, LiveCount, Refs int64
	IdleBytes, IdleCount       int64
	NominalBytes               int64 // of both, as lengths and not as pages
	Hits, Misses               int64
	Allocs, Frees              int64
	Commands                   int64
	ScopeDepth, Shapes         int64
}

// Stats may be called from any goroutine; it never waits for the device.
func (rt *Runtime) Stats() Stats {
	s := Stats{ScopeDepth: rt.scopes.depth.Load(), Shapes: rt.shapes.count.Load()}
	switch m := rt.machine.(type) {
	case *device:
		p, b := m.pool.Stats(), m.batch.Stats()
		s.LiveBytes = int64(p.Live.PageBytes + p.Pending.PageBytes)
		s.LiveCount = int64(p.Live.Count + p.Pending.Count)
		s.Refs = int64(p.Refs)
		s.IdleBytes, s.IdleCount = int64(p.Idle.PageBytes), int64(p.Idle.Count)
		s.NominalBytes = int64(p.Live.Bytes + p.Pending.Bytes + p.Idle.Bytes)
		s.Hits, s.Misses = int64(p.Hits), int64(p.Misses+p.Unpooled)
		s.Allocs, s.Frees = int64(p.Allocs), int64(p.Frees)
		s.Commands = int64(b.Commands)
	case *host:
		s.LiveBytes, s.LiveCount, s.Refs = m.bytes.Load(), m.count.Load(), m.count.Load()
		s.Allocs, s.Frees, s.Commands = m.allocs.Load(), m.frees.Load(), m.commands.Load()
	}
	return s
}

// Holders groups the live tensors by what keeps them: a graph node that will
// read them, an open scope, a container that KeepIn named, or the program
// itself. Most bytes first. Safe to call while the runtime works.
func (rt *Runtime) Holders() []Holder {
	list := rt.live.byHolder()
	slices.SortFunc(list, func(a, b Holder) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), strings.Compare(a.Path, b.Path))
	})
	return list
}

// LiveTensors is the number of tensors that hold a reference.
func (rt *Runtime) LiveTensors() int64 { return rt.live.count() }

// CloneAudit ranks the lines that shared tensors by the references they added,
// most first.
func (rt *Runtime) CloneAudit() []CloneSite {
	list := rt.audit.bySite()
	slices.SortFunc(list, func(a, b CloneSite) int {
		return cmp.Or(cmp.Compare(b.Increments, a.Increments), strings.Compare(a.Site, b.Site))
	})
	return list
}
