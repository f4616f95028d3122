//go:build !linux

package probe

import (
	"fmt"
	"slices"
)

// Tree follows the descendants of a process. Its methods are not safe for
// concurrent use.
type Tree struct {
	// Stray is for systems that tell the environment of a process.
	Stray func(pid int) bool

	root  int
	added []int
	pids  []int
}

// NewTree follows the descendants of pid.
func (m Machine) NewTree(pid int) *Tree { return &Tree{root: pid} }

// Add makes a process part of the tree, whoever its parents are.
func (t *Tree) Add(pid int) {
	if !slices.Contains(t.added, pid) {
		t.added = append(t.added, pid)
	}
}

// Forget does nothing: each Scan looks at all processes afresh.
func (t *Tree) Forget(Identity) {}

// Scan returns the pids of the descendants that run now, without the root, in
// ascending order. The slice is valid until the next Scan.
func (t *Tree) Scan() ([]int, error) {
	parents, err := parents()
	if err != nil {
		return nil, fmt.Errorf("scan processes: %w", err)
	}
	inside := map[int]bool{t.root: true}
	for _, pid := range t.added {
		if _, runs := parents[pid]; runs {
			inside[pid] = true
		}
	}
	for changed := true; changed; {
		changed = false
		for pid, parent := range parents {
			if !inside[pid] && inside[parent] && pid != parent {
				inside[pid], changed = true, true
			}
		}
	}
	t.pids = t.pids[:0]
	for pid := range inside {
		if pid != t.root {
			t.pids = append(t.pids, pid)
		}
	}
	slices.Sort(t.pids)
	return t.pids, nil
}
