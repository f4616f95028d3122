package verdict

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// passing is a program of which a library calls the driver past the capture.
func passing(p *program) *program {
	p.events = append(p.events, record.Event{Kind: record.KindWarning, Name: record.WarningPast, Text: "past"})
	return p
}

func TestNothingIsSaidOfADeviceThatALibraryCallsPastTheCapture(t *testing.T) {
	t.Parallel()
	quiet := func() *program {
		return newProgram(800).flat(record.ColFootprint, 200*mib, 4*kib).flat(record.ColDriverAllocBytes, 64*mib, 0)
	}
	if v := quiet().judge(); v.Verdict != None {
		t.Errorf("all calls are seen: %s", v.Summary)
	}
	v := passing(quiet()).judge()
	if v.Verdict != Undecided || !strings.Contains(v.Summary, "past gpumem") || v.MoreMinutes != nil {
		t.Errorf("some pass by: %s", v.Summary)
	}
	if v := passing(quiet().flat(record.ColGPU, 500*mib, 0)).judge(); v.Verdict != None {
		t.Errorf("the driver tells a total: %s", v.Summary)
	}
	grows := func() *program {
		return newProgram(800).healthy().grows(record.ColGPU, 700*mib, 0, mib)
	}
	if v := grows().judge(); v.Verdict != DriverGrowth {
		t.Errorf("the driver grows: %s", v.Summary)
	}
	if v := passing(grows()).judge(); v.Verdict != Undecided {
		t.Errorf("whose it is nobody knows: %s", v.Summary)
	}
}
