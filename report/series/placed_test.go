package series

import (
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

func TestObjectsThatALookFoundBelowNoNameAreWhereTheyWereBefore(t *testing.T) {
	t.Parallel()
	look := func(pid int, path, filled string) record.Event {
		return record.Event{PID: pid, Kind: record.KindHolders, Holders: []record.Holder{{Path: path, Filled: filled}}}
	}
	const below, made = "Fault objects below main() local patrol.last", "/srv/patrol.py:83 clear"
	all := []record.Event{
		look(7, "Fault objects", made), look(7, below, made), look(7, "Fault objects", made),
		look(7, "Fault objects: a reference cycle", made), look(7, "Fault objects", "/srv/other.py:1 f"),
		look(8, "Fault objects", made),
	}
	want := []string{"Fault objects", below, below, "Fault objects: a reference cycle", "Fault objects", "Fault objects"}
	for i, e := range placed(all) {
		if got := e.Holders[0].Path; got != want[i] {
			t.Errorf("%d: %s, not %s", i, got, want[i])
		}
	}
	if all[2].Holders[0].Path != "Fault objects" {
		t.Error("the events of the run were changed")
	}
}
