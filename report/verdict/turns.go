package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/series"
)

// A job runs one program after the other: a compiler for each file, a script for each
// part of the data. Such a program may grow all its short life, as it reads its input,
// and gives all of it back when it ends. The job does not grow by that.
const (
	leastTurns  = 3   // programs of one kind that ran one after the other
	longestTurn = 20. // seconds: what grows for longer is a program of its own
	turnsDiffer = 2.  // times what its kind holds, at most, for the last one to be one of them
)

// turns are processes of one kind.
type turns struct {
	kind string
	list []*settled // in the order in which they were first seen
}

// inTurns are the processes that ran one after the other, each for a short time: those of
// each kind apart. The first process, which started them, is never one of them.
func inTurns(all []*settled) []turns {
	first := firstOf(all)
	kinds := map[string][]*settled{}
	for _, s := range all {
		if kind := runs(&s.Examined.Process); s != first && kind != "" && len(s.Whole.Clock) > 0 &&
			s.Lived() <= longestTurn {
			kinds[kind] = append(kinds[kind], s)
		}
	}
	var out []turns
	for kind, list := range kinds {
		slices.SortFunc(list, func(a, b *settled) int {
			return cmp.Compare(a.Whole.Clock[0], b.Whole.Clock[0])
		})
		if inARow(list) >= leastTurns {
			out = append(out, turns{kind, givenBack(list)})
		}
	}
	slices.SortFunc(out, func(a, b turns) int { return cmp.Compare(a.kind, b.kind) })
	return out
}

// runs is what the process runs: the first two words of its command, of which the second is
// the script where the first is an interpreter; empty where nobody told it.
func runs(p *series.Process) string {
	name, _ := p.Events.Introduced(p.PID)
	words := strings.Fields(series.Unnumbered(name))
	return strings.Join(words[:min(2, len(words))], " ")
}

// inARow is how many of the processes ran one after the other: none of them began before
// the one before it had ended.
func inARow(list []*settled) int {
	byEnd := slices.Clone(list)
	slices.SortFunc(byEnd, func(a, b *settled) int { return cmp.Compare(a.LastSeen(), b.LastSeen()) })
	n, ended := 0, math.Inf(-1)
	for _, s := range byEnd {
		if s.Whole.Clock[0] > ended {
			n, ended = n+1, s.LastSeen()
		}
	}
	return n
}

// givenBack are those after which others of the kind began, and of the rest those that
// held about as much as the kind does: the last one may be the one that grows.
func givenBack(list []*settled) []*settled {
	var held []int64
	begun := 0. // when the last one did
	for _, s := range list {
		begun = max(begun, s.Whole.Clock[0])
		if bytes := lastHeld(&s.Examined.Process); bytes != nil {
			held = append(held, *bytes)
		}
	}
	if len(held) == 0 {
		return nil
	}
	slices.Sort(held)
	most := turnsDiffer * float64(held[len(held)/2])
	return slices.DeleteFunc(slices.Clone(list), func(s *settled) bool {
		bytes := lastHeld(&s.Examined.Process)
		return s.LastSeen() >= begun && (bytes == nil || float64(*bytes) > most)
	})
}

// withoutTurns are the processes without those that ran in turns.
func withoutTurns(all []*settled) []*settled {
	ran := map[*settled]bool{}
	for _, t := range inTurns(all) {
		for _, s := range t.list {
			ran[s] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(s *settled) bool { return ran[s] })
}

// notes tell by how much such processes grew; none where they did not.
func (t *turns) notes() []string {
	grew, n := 0., 0
	for _, s := range t.list {
		if s.grows() {
			grew, n = max(grew, s.size), n+1
		}
	}
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d of the %d processes `%s` grew for as long as they ran, by %s at most; "+
		"each gave it back when it ended, so that the job does not grow; one of them that runs for longer might: "+
		"a longer run of it alone tells", n, len(t.list), t.kind, units.Bytes(grew))}
}
