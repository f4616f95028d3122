package diagnosis

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/probe/scan"
)

// Left are processes that should not run, or not any more.
type Left []scan.Process

// LeftOf are the processes of self's user with one of the names, without self
// and those that it was started by: a script may ask whether another of it
// runs.
func LeftOf(s *scan.Scan, names []string, self int) Left {
	var me scan.Process
	for _, p := range s.Processes {
		if p.PID == self {
			me = p
		}
	}
	parents := map[int]int{}
	for _, p := range s.Processes {
		parents[p.PID] = p.Parent
	}
	ours := map[int]bool{}
	for pid := self; pid > 0 && !ours[pid]; pid = parents[pid] {
		ours[pid] = true
	}
	var left Left
	for _, p := range s.Processes {
		mine := p.UID == me.UID && p.Owner == me.Owner // Windows has names only
		if !ours[p.PID] && mine && namedAny(&p, names) {
			left = append(left, p)
		}
	}
	slices.SortFunc(left, func(a, b scan.Process) int { return cmp.Compare(a.PID, b.PID) })
	return left
}

// Many is how many there are of which names, up to the verb.
func (l Left) Many(names string) string {
	return units.Counted(len(l), "process of "+names+" is", "processes of "+names+" are")
}

// List is up to five of them, each after a space.
func (l Left) List() string {
	const most = 5
	text := ""
	for i, p := range l {
		if i == most {
			text += fmt.Sprintf(" and %d more", len(l)-most)
			break
		}
		state := ""
		if p.State == scan.Zombie {
			state = ", zombie"
		}
		text += fmt.Sprintf(" %d (%s, %s%s)", p.PID, plain.Age(p.Age), plain.Size(p.Footprint()), state)
	}
	return text
}

// JSON writes them, and the names that were looked for, as JSON.
func (l Left) JSON(w io.Writer, names []string) error {
	return plain.WriteJSON(w, &leftJSON{Names: names, Left: processesJSON(l)})
}

// leftJSON is the JSON of --expect-none.
type leftJSON struct {
	Names []string      `json:"names"`
	Left  []processJSON `json:"left"`
}
