package sample

import (
	"fmt"

	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/tracer/record"
)

// Set is processes that are sampled together, each once a round. It is for one
// goroutine.
type Set struct {
	s     *Sampler
	procs map[int]*Process
	order []int // by when they were added
	cells []record.Cell
}

// NewSet makes an empty Set.
func (s *Sampler) NewSet() *Set { return &Set{s: s, procs: map[int]*Process{}} }

// Add adds the process that began at start (probe.Identity); 0 is whichever has
// the pid. One that is in the Set already stays as it is. The error is
// probe.ErrExited when there is no such process, also when a later one has its
// pid, or says why it cannot be read.
func (g *Set) Add(pid int, start int64) error {
	if g.procs[pid] != nil {
		return nil
	}
	p, err := g.s.Open(pid)
	if err != nil {
		return err
	}
	if start != 0 && p.Identity().Start != start {
		p.Close() //nolint:errcheck // files that were only read
		return fmt.Errorf("open process %d: %w", pid, probe.ErrExited)
	}
	g.procs[pid], g.order = p, append(g.order, pid)
	return nil
}

// Has reports whether a process of that pid is in the Set.
func (g *Set) Has(pid int) bool { return g.procs[pid] != nil }

// Len is how many processes are in the Set.
func (g *Set) Len() int { return len(g.order) }

// Round asks the drivers and takes a row of each process; row must not keep the
// cells. A process that cannot be read any more leaves the Set, and ended hears
// why: probe.ErrExited when it has gone. The error says why GPU bytes are missing.
func (g *Set) Round(row func(pid int, cells []record.Cell), ended func(pid int, err error)) error {
	asked := g.s.Ask(g.order)
	kept := g.order[:0]
	for _, pid := range g.order {
		p := g.procs[pid]
		var err error
		if g.cells, err = p.Row(g.s.o.Now(), g.cells[:0]); err != nil {
			p.Close() //nolint:errcheck // files that were only read
			delete(g.procs, pid)
			ended(pid, err)
			continue
		}
		kept = append(kept, pid)
		row(pid, g.cells)
	}
	g.order = kept
	return asked
}

// Close lets go of the processes.
func (g *Set) Close() {
	for _, p := range g.procs {
		p.Close() //nolint:errcheck // files that were only read
	}
	clear(g.procs)
	g.order = nil
}
