package probe

import (
	"fmt"
	"slices"

	"github.com/gpumem/gpumem/probe/procfs"
)

// Tree follows the descendants of a process. A scan costs one listing of the
// machine's processes and one file for each that is new since the last scan,
// because a process that was no descendant at first sight does not become one.
// A process whose parent died between two scans is not found unless Stray knows
// it; one that was found stays, whatever becomes of its parents. Its methods are
// not safe for concurrent use.
type Tree struct {
	// Stray reports whether a process that did not begin before the root, and that has no
	// parent in the tree, belongs to it all the same. nil knows none.
	Stray func(pid int) bool

	machine Machine
	root    int
	known   map[int]member
	scan    uint64
	fresh   []child
	gone    []Identity
	listed  []int
	pids    []int
}

// member is what was found out about a process of the machine.
type member struct {
	scan   uint64 // when it was last there
	inside bool
}

// child is a process seen for the first time.
type child struct {
	pid, parent int
	start       int64
}

// NewTree follows the descendants of pid.
func (m Machine) NewTree(pid int) *Tree {
	return &Tree{machine: m, root: pid, known: map[int]member{}}
}

// Add makes a process part of the tree, whoever its parents are.
func (t *Tree) Add(pid int) { t.known[pid] = member{scan: t.scan, inside: true} }

// Forget says that a process seems to have gone: if another has its pid at the next Scan,
// that one is looked at afresh. Without it a pid that goes to another process between two
// scans counts as the same.
func (t *Tree) Forget(id Identity) { t.gone = append(t.gone, id) }

// dropReused takes the processes off that have gone and whose pid is another's.
func (t *Tree) dropReused() {
	for _, id := range t.gone {
		b, err := procfs.Dir(t.machine.proc()).Read(id.PID, "stat")
		if s, ok := procfs.ParseStat(b); err != nil || !ok || s.Start != id.Start {
			delete(t.known, id.PID)
		}
	}
	t.gone = t.gone[:0]
}

// Scan returns the pids of the descendants that run now, without the root, in
// ascending order. The slice is valid until the next Scan.
func (t *Tree) Scan() ([]int, error) {
	var err error
	if t.listed, err = procfs.Dir(t.machine.proc()).PIDs(t.listed[:0]); err != nil {
		return nil, fmt.Errorf("scan processes: %w", err)
	}
	t.dropReused()
	t.scan++
	t.fresh = t.fresh[:0]
	for _, pid := range t.listed {
		if k, seen := t.known[pid]; seen {
			t.known[pid] = member{scan: t.scan, inside: k.inside}
			continue
		}
		if c, ok := t.look(pid); ok {
			t.fresh = append(t.fresh, c)
		}
	}
	t.adopt()
	if t.Stray != nil && t.takeStrays() {
		t.adopt()
	}
	t.pids = t.pids[:0]
	for pid, k := range t.known {
		switch {
		case k.scan != t.scan:
			delete(t.known, pid) // gone; a later process may get the pid
		case k.inside && pid != t.root:
			t.pids = append(t.pids, pid)
		}
	}
	slices.Sort(t.pids)
	return t.pids, nil
}

// look reads the parent of a process.
func (t *Tree) look(pid int) (child, bool) {
	b, err := procfs.Dir(t.machine.proc()).Read(pid, "stat")
	if err != nil {
		return child{}, false
	}
	s, ok := procfs.ParseStat(b)
	return child{pid, s.Parent, s.Start}, ok
}

// takeStrays takes in the fresh processes that Stray knows, and reports whether there
// are any. At the first scan all of the machine's are fresh, of which most are older than
// the root: what they are is not asked.
func (t *Tree) takeStrays() (any bool) {
	least := int64(0)
	if root, ok := t.begun(); ok {
		least = root
	}
	for _, c := range t.fresh {
		if c.start >= least && !t.known[c.pid].inside && t.Stray(c.pid) {
			t.known[c.pid] = member{scan: t.scan, inside: true}
			any = true
		}
	}
	return any
}

// begun is when the root began; ok is false where it has gone.
func (t *Tree) begun() (start int64, ok bool) {
	b, err := procfs.Dir(t.machine.proc()).Read(t.root, "stat")
	if err != nil {
		return 0, false
	}
	s, ok := procfs.ParseStat(b)
	return s.Start, ok
}

// adopt sorts the fresh processes into descendants and others. A parent may
// itself be fresh, so it goes on until nothing changes.
func (t *Tree) adopt() {
	for _, c := range t.fresh {
		t.known[c.pid] = member{scan: t.scan, inside: c.pid == t.root || t.known[c.pid].inside}
	}
	for changed := true; changed; {
		changed = false
		for _, c := range t.fresh {
			if !t.known[c.pid].inside && (c.parent == t.root || t.known[c.parent].inside) {
				t.known[c.pid] = member{scan: t.scan, inside: true}
				changed = true
			}
		}
	}
}
