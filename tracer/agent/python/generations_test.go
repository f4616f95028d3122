//go:build !windows

package python_test

import (
	"fmt"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

func TestAProgramTellsOfWhatAgeTheBlocksOfItsAllocatorAre(t *testing.T) {
	t.Parallel()
	o := run(t, traced{args: []string{"ages.py"}, ask: []string{"holders"}})
	var looks [][]record.Generation
	for _, m := range o.main(t).marks {
		if m.Kind == record.KindGenerations {
			looks = append(looks, record.GenerationsOf(&record.Event{Kind: m.Kind, Detail: m.Detail}))
		}
	}
	if len(looks) != 3 || o.stderr != "" {
		t.Fatalf("%d looks, stderr %q", len(looks), o.stderr)
	}
	blocks := int64(0)
	for i, g := range looks[2] {
		if blocks += g.Count; g.Bytes != g.Count*mib || g.Count < 1 {
			t.Errorf("generation %d has %d bytes in %d blocks", i, g.Bytes, g.Count)
		}
		if i < 2 && g.Count != looks[i][i].Count {
			t.Errorf("of generation %d, %d of %d live on: each step keeps one", i, g.Count, looks[i][i].Count)
		}
	}
	// The last look was at the end of the last step: what came and went is gone.
	if fmt.Sprintln(blocks) != o.stdout {
		t.Errorf("%d blocks live at the last look, of %s", blocks, o.stdout)
	}
}

func TestAProgramThatNobodyHoldsIsNotLookedAt(t *testing.T) {
	t.Parallel()
	o := run(t, traced{args: []string{"train.py"}})
	for _, m := range o.main(t).marks {
		if m.Kind == record.KindGenerations {
			t.Errorf("%s", m.Detail)
		}
	}
}
