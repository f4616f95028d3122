package injection

import (
	"context"
	"slices"
	"time"

	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/tracer/record"
)

const (
	// touchGrowth within touchLook, twice in a row, is what arms the first-touch
	// recording, or touchSlow, four times: a program that grows more slowly faults too
	// rarely to be judged in time.
	touchGrowth = 4 << 20
	touchSlow   = 512 << 10
	touchLook   = 2 * time.Second
	// touchWarmup is left to a program to load itself: libraries that are read
	// in would be named as owners.
	touchWarmup = 3 * time.Second
	// touchedChildren bounds the children that are recorded, and watchedChildren those
	// that are looked at.
	touchedChildren = 3
	watchedChildren = 64
)

// growing looks at the resident memory of a process, time after time.
type growing struct {
	file        *probe.Process
	begun       time.Time // when it was seen first
	last        int64
	grew, crept int // looks in a row at which it had grown fast, and at all
}

// watchGrowth begins to look at a process; nil where it is gone.
func watchGrowth(pid int) *growing {
	file, err := probe.Open(pid)
	if err != nil {
		return nil
	}
	return &growing{file: file, begun: time.Now(), last: probe.Unknown}
}

// look reads the memory once more, touchLook after the last time, and reports whether it
// keeps growing; ok is false when the process is gone.
func (g *growing) look() (grows, ok bool) {
	var m probe.Memory
	if g.file.Read(&m) != nil {
		return false, false
	}
	came := m.RSS - g.last
	if g.last == probe.Unknown {
		came = 0
	}
	if g.grew++; came < touchGrowth {
		g.grew = 0
	}
	if g.crept++; came < touchSlow {
		g.crept = 0
	}
	g.last = m.RSS
	return g.grew >= 2 || g.crept >= 4, true
}

func (g *growing) close() { _ = g.file.Close() } // files that were only read

// waitForGrowth returns true when resident memory grew several times in a row.
func waitForGrowth(ctx context.Context, pid int) bool {
	g := watchGrowth(pid)
	if g == nil {
		return false
	}
	defer g.close()
	for wait := touchWarmup; pause(ctx, wait); wait = touchLook {
		if grows, ok := g.look(); grows || !ok {
			return ok
		}
	}
	return false
}

// pause waits; false when the trace has ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// watchChildren finds out of the children that keep growing whose code first touches
// their new pages, of a few one after the other.
func watchChildren(ctx context.Context, pid int, emit func(record.Event)) {
	tree, seen := probe.NewTree(pid), map[int]*growing{}
	defer func() {
		for _, g := range seen {
			if g != nil {
				g.close()
			}
		}
	}()
	for touched := 0; touched < touchedChildren && pause(ctx, touchLook); {
		pids, err := tree.Scan()
		if err != nil {
			return
		}
		if child := growingAmong(pids, seen); child != 0 {
			seen[child].close()
			seen[child] = nil // once is enough
			touched++
			if !recordTouches(ctx, child, emit) {
				return
			}
		}
	}
}

// growingAmong looks at the living children, and gives one that keeps growing; 0 of none.
func growingAmong(pids []int, seen map[int]*growing) (child int) {
	for pid, g := range seen {
		if !slices.Contains(pids, pid) {
			if g != nil {
				g.close()
			}
			delete(seen, pid)
		}
	}
	for _, pid := range pids {
		g, known := seen[pid]
		if !known {
			if len(seen) < watchedChildren {
				if g = watchGrowth(pid); g != nil {
					seen[pid] = g
				}
			}
			continue
		}
		if g == nil || time.Since(g.begun) < touchWarmup {
			continue
		}
		if grows, ok := g.look(); ok && grows && child == 0 {
			child = pid
		}
	}
	return child
}
