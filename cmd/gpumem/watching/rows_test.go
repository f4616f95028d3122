package watching

import (
	"io"
	"testing"

	"github.com/gpumem/gpumem/probe/scan"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

func TestMemoryHeldForProcessesThatAreNoMoreIsPublishedUntilItIsGivenBack(t *testing.T) {
	t.Parallel()
	b := newBook(io.Discard, verdict.Options{})
	held := scan.Elsewhere{Charge: scan.Charge{PID: 7, Device: 1, LocalBytes: 5, HostBytes: scan.Unknown}}
	elsewhere := held
	elsewhere.PID, elsewhere.Namespace = 8, true // it may be a container's
	b.Row(9, 0, []record.Cell{{Column: record.ColGPU, Value: 3}})
	b.Held(0, []scan.Elsewhere{held, elsewhere})
	dead := map[int]bool{}
	for _, p := range b.Processes() {
		dead[p.PID] = p.Dead
		if p.PID == 7 && (p.Device != "1" || p.Bytes[verdict.Untracked] != 5) {
			t.Errorf("%+v, want 5 bytes on device 1", p)
		}
	}
	if len(dead) != 2 || !dead[7] || dead[9] {
		t.Errorf("published as dead or not: %v, want 7 dead and 9 alive", dead)
	}
	b.Held(1000, nil)
	if n := len(b.Processes()); n != 1 {
		t.Errorf("%d processes are published, want 9 alone", n)
	}
}
