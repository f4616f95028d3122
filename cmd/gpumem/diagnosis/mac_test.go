package diagnosis

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/probe/apple"
	"github.com/gpumem/gpumem/probe/scan"
)

// aMacsProcess is one as the scan of a Mac gives it.
func aMacsProcess() scan.Process {
	p := scan.Process{PID: 42, Name: "trainer", State: scan.Running, Memory: probe.UnknownMemory(),
		Tooling: []apple.Tool{{Variable: "NSZombieEnabled", Value: "YES",
			What: "zombie objects, which are never freed"}},
		GPU: []scan.Charge{{PID: 42, LocalBytes: scan.Unknown, HostBytes: 3 << 20, Clients: 2,
			Busy: 1500e6}}}
	p.Memory.Footprint, p.Memory.Peak = 5<<20, 9<<20
	return p
}

func TestDiagnosisOfAMacsProcessSaysPeakLedgerClientsAndTools(t *testing.T) {
	t.Parallel()
	d := &Diagnosis{Chosen: true, Scan: &scan.Scan{Processes: []scan.Process{aMacsProcess()},
		Devices: []scan.Device{{Source: scan.Apple}}}}
	text := strings.Join(strings.Fields(d.Text(false)), " ")
	for _, want := range []string{
		"5 MiB (at most 9 MiB)", "3 MiB of the host's memory on device 0, 2 clients, busy for 1.5s",
		"NSZombieEnabled=YES: zombie objects, which are never freed; what it keeps is no leak",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	j := processesJSON(d.Scan.Processes)[0]
	if j.Peak == nil || *j.Peak != 9<<20 || len(j.Tooling) != 1 || j.GPUs[0].Clients != 2 ||
		*j.GPUs[0].Busy != 1.5 || j.GPUs[0].Local != nil {
		t.Errorf("%+v", j)
	}
}

func TestTheWholeMachinesDiagnosisNamesProcessesWithTools(t *testing.T) {
	t.Parallel()
	d := &Diagnosis{Scan: &scan.Scan{Processes: []scan.Process{aMacsProcess()}}}
	if text := d.Text(false); !strings.Contains(text, "PID 42 (trainer) runs with NSZombieEnabled=YES") {
		t.Errorf("no note in\n%s", text)
	}
}
