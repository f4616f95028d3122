package verdict

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

func TestManagedMemoryThatNoAccountHasIsTheProgramsLeak(t *testing.T) {
	t.Parallel()
	keeps := func(managed, host float64) *Verdict {
		return newProgram(800).flat(record.ColGPU, 718*mib, 0).grows(record.ColFootprint, 125*mib, 4*kib, host).
			flat(record.ColDriverProgramBytes, 200*mib, 0).flat(record.ColDriverProgramCount, 4, 0).
			grows(record.ColDriverManagedBytes, 8*mib, 0, managed).judge()
	}
	// As on an H100: 1.5 GiB of it, beside 2.6 MiB of the host's.
	if v := keeps(1.9*mib, 3.3*kib); v.Verdict != AppLeak || !strings.Contains(v.Summary, "for no process") {
		t.Errorf("it is kept: %s", v.Summary)
	}
	if v := keeps(0, 3.3*kib); v.Verdict == AppLeak {
		t.Errorf("the host alone: %s", v.Summary)
	}
	if v := keeps(0, 0); v.Verdict != None {
		t.Errorf("nothing: %s", v.Summary)
	}
	// What the host grows by may be the managed memory itself.
	if v := keeps(mib, mib); strings.Contains(v.Summary, "for no process") {
		t.Errorf("the host grows as much: %s", v.Summary)
	}
}
