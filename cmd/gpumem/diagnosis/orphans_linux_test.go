package diagnosis

import (
	"slices"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/probe/scan"
)

func TestGPUMemoryOfProcessesWhoseStarterHasGoneIsToldAsLeftBehind(t *testing.T) {
	t.Parallel()
	d := lookAtFixture(t)
	change := func(pid, parent, session int) {
		for i := range d.Scan.Processes {
			if p := &d.Scan.Processes[i]; p.PID == pid {
				p.Parent, p.Session = parent, session
			}
		}
	}
	const told = "left behind: PID 101 (trainer) holds 4.00 GiB of GPU memory"
	for what, c := range map[string]struct {
		parent, session int
		left            bool
	}{
		"both have gone":           {1, 90, true},
		"its shell is there":       {1, 102, false},
		"a service of its own":     {1, 101, false},
		"its parent is there":      {102, 90, false},
		"of the container's first": {1, 1, false},
		"of another namespace":     {1, 0, false},
	} {
		change(101, c.parent, c.session)
		j := documentOf(t, d)
		if got := strings.Contains(d.Text(false), told); got != c.left || slices.Contains(j.LeftBehind, 101) != c.left {
			t.Errorf("%s: told %v, JSON %v", what, got, j.LeftBehind)
		}
	}
	change(101, 1, 90)
	d.Scan.Unlisted = true
	if list := orphans(d.Scan); len(list) != 0 {
		t.Errorf("of a machine that hides processes: %+v", list)
	}
	s := scan.Scan{Processes: []scan.Process{{PID: 5, Parent: 1, Session: 4}}}
	if list := orphans(&s); len(list) != 0 {
		t.Errorf("one without GPU memory: %+v", list)
	}
}
