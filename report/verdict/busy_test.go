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

// The recording is of a healthy program on an H100 whose host memory took 23 MiB at once in
// the first third of its work and half a MiB after that; its twin goes on as it began.
func TestWhatCameInTheFirstThirdAloneIsAWarmUp(t *testing.T) {
	t.Parallel()
	for rate, want := range map[float64]Class{0: None, .3 * mib: HostGrowth} {
		run, err := record.Open(filepath.Join("testdata", "one-portion"))
		if err != nil {
			t.Fatal(err)
		}
		at, host := run.Samples.Column(record.ColTime), run.Samples.Column(record.ColFootprint)
		for i := range host { // read anew for each
			host[i] += rate * at[i] / 1000
		}
		if v := Judge(run, Options{}); v.Verdict != want {
			t.Errorf("with %g bytes more a second: %s", rate, v.Answer)
		}
	}
}
