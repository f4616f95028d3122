package verdict

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// byKeys puts in place of a dictionary at the first look that told it so many of its
// entries, as the agent tells them while there are few.
func byKeys(p *program, name, rest string, entries int64) *program {
	first := &p.events[0].Holders[0]
	var list []record.Holder
	for n := range entries {
		h := record.Holder{Path: fmt.Sprintf("list %s['%x']%s", name, n, rest), OverMs: first.OverMs}
		h.Bytes, h.Count, h.Length = first.Bytes/entries, first.Count/entries, first.Length/entries
		list = append(list, h)
	}
	p.events[0].Holders = list
	return p
}

func TestEntriesOfADictionaryAtTheFirstLookAreTheDictionaryOfTheLaterOnes(t *testing.T) {
	t.Parallel()
	const each = 256 * kib
	path := "dict main() local sessions[…].history"
	p := wandering(300, each).lookedAt(path, each, 0)
	v := byKeys(p, "main() local sessions", ".history", 5).judge()
	if v.Verdict != AppLeak || v.RestsOn != ByObjects ||
		!strings.Contains(v.Summary, path+" was longer at each of 3 looks") {
		t.Errorf("%s by %s", v.Summary, v.RestsOn)
	}
	p = wandering(300, each).lookedAt(path, each, 0)
	if v := byKeys(p, "main() local others", ".history", 5).judge(); v.Verdict != Undecided {
		t.Errorf("entries of another dictionary: %s", v.Summary)
	}
}
