package diagnosis

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/probe/host"
	"github.com/gpumem/gpumem/probe/scan"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// oneProcess is a diagnosis of one process, of which this is known besides.
func oneProcess(about host.Process) *Diagnosis {
	p := scan.Process{PID: 42, Parent: 7, Name: "train", Owner: "ana", Memory: probe.UnknownMemory(),
		GPUUnknown: true}
	return &Diagnosis{
		Chosen: true, GPUOff: true, Scan: &scan.Scan{At: noon, Processes: []scan.Process{p}},
		about: map[int]host.Process{42: about},
	}
}

func TestAProcessIsDescribedByWhoStartedItAndWhatItHasOpen(t *testing.T) {
	t.Parallel()
	d := oneProcess(host.Process{Owner: "root", Started: noon, Parent: 7, ParentName: "systemd",
		OpenFiles: 12, Cgroup: "/job"})
	text, j := d.Text(false), documentOf(t, d)
	for _, want := range []string{"owner      ana\n", "started    2026-11-22 12:00:00 UTC, by 7 (systemd)\n",
		"open files 12\n", "cgroup     /job\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	p := j.Processes[0]
	if p.Started == nil || !p.Started.Equal(noon) || p.ParentName != "systemd" || p.OpenFiles == nil ||
		*p.OpenFiles != 12 || p.Cgroup != "/job" {
		t.Errorf("JSON %+v", p)
	}
}

func TestWhatIsNotKnownOfAProcessIsAbsent(t *testing.T) {
	t.Parallel()
	for what, about := range map[string]host.Process{
		"nothing told": {Parent: 7, OpenFiles: host.Unknown},
		"a later one of its pid": {Owner: "root", Started: noon, Parent: 8, ParentName: "init", OpenFiles: 3,
			Cgroup: "/other"},
	} {
		d := oneProcess(about)
		text, p := d.Text(false), documentOf(t, d).Processes[0]
		if strings.Contains(text, "started") || strings.Contains(text, "open files") ||
			strings.Contains(text, "cgroup") {
			t.Errorf("%s:\n%s", what, text)
		}
		if p.Started != nil || p.ParentName != "" || p.OpenFiles != nil || p.Cgroup != "" ||
			p.Owner != "ana" {
			t.Errorf("%s: %+v", what, p)
		}
	}
}

func TestTheMachineIsDescribedWithItsTemperatures(t *testing.T) {
	t.Parallel()
	d := &Diagnosis{GPUOff: true, Scan: &scan.Scan{At: noon}, Machine: &host.Facts{
		Platform: "Debian GNU/Linux 12 (bookworm)", Kernel: "6.1.0", CPU: "Xeon", Processors: 8,
		Virtualization: "kvm",
		Booted:         noon.Add(-48 * time.Hour), Memory: host.Unknown, Swap: host.Unknown,
	}, Sensors: []host.Sensor{{Name: "acpitz", Celsius: 30}, {Name: "nvme", Celsius: 61, Critical: 85}}}
	text, j := d.Text(false), documentOf(t, d)
	for _, want := range []string{"Debian GNU/Linux 12 (bookworm), kernel 6.1.0, Xeon, virtualization kvm,",
		"up 2d", "sensors  nvme 61 °C, acpitz 30 °C\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	m := j.Machine
	if m.Platform == "" || m.Kernel != "6.1.0" || m.CPU != "Xeon" || m.Processors != 8 || m.Booted == nil ||
		len(m.Temperatures) != 2 || m.Temperatures[1].Critical != 85 {
		t.Errorf("JSON %+v", m)
	}
}

func documentOf(t *testing.T, d *Diagnosis) Document {
	t.Helper()
	var b strings.Builder
	if err := d.JSON(&b); err != nil {
		t.Fatal(err)
	}
	var j Document
	if err := json.Unmarshal([]byte(b.String()), &j); err != nil {
		t.Fatal(err)
	}
	return j
}
