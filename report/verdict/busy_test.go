package verdict

import (
	"path/filepath"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// The recordings are of healthy programs of 10 s on a machine with two cores and twenty
// busy processes: one fills a table ever more slowly, one swings by 20 MiB in teeth of
// four seconds.
func TestHealthyProgramsOnABusyMachineAreNotAccused(t *testing.T) {
	t.Parallel()
	for _, name := range [...]string{"a-table-fills-up", "a-slow-sawtooth"} {
		run, err := record.Open(filepath.Join("testdata", "busy-machine", name))
		if err != nil {
			t.Fatal(err)
		}
		if v := Judge(run, Options{}); v.Verdict != Undecided && v.Verdict != None {
			t.Errorf("%s: %s", name, v.Answer)
		}
	}
}
