package cause

import (
	"slices"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

func TestAGraphIsCutWhereItsHolderTakesIt(t *testing.T) {
	t.Parallel()
	for want, h := range map[string]record.Holder{
		"+ losses.append(loss.item())":      {Path: "list train.losses", Graph: "Mean outputs"},
		"+ total += loss.item()":            {Path: "train.total", Graph: "Add outputs"},
		"+ state = cell(x, state.detach())": {Path: "train.h", Graph: "Tanh outputs"},
	} {
		h.Bytes = 90 * mib
		got := Of(leak(h))
		if len(got) != 1 || got[0].ID != Graph || !slices.Contains(got[0].Change, want) {
			t.Errorf("%s: %+v", h.Path, got)
		}
	}
}
