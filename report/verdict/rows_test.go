package verdict

import (
	"slices"
	"testing"
)

// At the end of a program no name may lead any more to what a name led to while it ran.
func TestHoldersThatAreGoneComeBeforeRowsThatTellNobody(t *testing.T) {
	t.Parallel()
	rows := []HolderRow{
		{Path: "list app.rows", Bytes: 900},
		{Path: "Tensor (8, 8): a reference cycle or native code", Bytes: 800},
		{Path: "Tensor (4, 4): not found in time", Bytes: 700},
		{Path: "dict main() local app.faults", Bytes: 300, Gone: true},
		{Path: "dict app.still", Bytes: 280},
		{Path: "dict main() local app.few", Bytes: 100, Gone: true},
	}
	var got []int64
	for _, h := range knownFirst(rows) {
		got = append(got, h.Bytes)
	}
	if want := []int64{900, 300, 800, 700, 280, 100}; !slices.Equal(got, want) {
		t.Errorf("in the order of %v", got)
	}
	if got := knownFirst(rows[:1]); len(got) != 1 {
		t.Errorf("one alone: %v", got)
	}
}
