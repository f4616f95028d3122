package main

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/probe/apple"
	"github.com/gpumem/gpumem/probe/scan"
	"github.com/gpumem/gpumem/tracer/record"
)

// aMacsProcess is one as the scan of a Mac gives it.
func aMacsProcess() scan.Process {
	p := scan.Process{PID: 42, Name: "trainer", State: scan.Running, Memory: probe.UnknownMemory(),
		Tooling: []apple.Tool{{Variable: "NSZombieEnabled", Value: "YES", What: "zombie objects, which are never freed"}},
		GPU:     []scan.Charge{{PID: 42, LocalBytes: scan.Unknown, HostBytes: 3 << 20, Clients: 2, Busy: 1500e6}}}
	p.Memory.Footprint, p.Memory.Peak = 5<<20, 9<<20
	return p
}

func TestDiagnosisOfAMacsProcessSaysPeakLedgerClientsAndTools(t *testing.T) {
	t.Parallel()
	d := &diagnosis{chosen: true, scan: &scan.Scan{Processes: []scan.Process{aMacsProcess()}, Devices: []scan.Device{{Source: scan.Apple}}}}
	text := strings.Join(strings.Fields(d.text(false)), " ")
	for _, want := range []string{
		"5.00 MiB (at most 9.00 MiB)", "3.00 MiB of the host's memory on device 0, 2 clients, busy for 1.5s",
		"NSZombieEnabled=YES: zombie objects, which are never freed; what it keeps is no leak",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	j := processesJSON(d.scan.Processes)[0]
	if j.Peak == nil || *j.Peak != 9<<20 || len(j.Tooling) != 1 || j.GPUs[0].Clients != 2 || *j.GPUs[0].Busy != 1.5 || j.GPUs[0].Local != nil {
		t.Errorf("%+v", j)
	}
}

func TestARunWarnsOfABundleThatAllowsGPUCapture(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a shell script is the program")
	}
	contents := filepath.Join(t.TempDir(), "Painter.app", "Contents")
	program := filepath.Join(contents, "MacOS", "painter")
	if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
		t.Fatal(err)
	}
	plist, err := os.ReadFile(filepath.Join("..", "..", "probe", "apple", "testdata", "Info-binary.plist"))
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string][]byte{filepath.Join(contents, "Info.plist"): plist, program: []byte("#!/bin/sh\n")} {
		if err := os.WriteFile(path, text, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	if got := gpumem(t, dir, "run", "-q", "--out", "r", "--", program); got.code != 0 {
		t.Fatalf("exit code %d\n%s", got.code, got.stderr)
	}
	run, err := record.Open(filepath.Join(dir, "r"))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(run.Events, func(e record.Event) bool {
		return e.Kind == record.KindWarning && strings.Contains(e.Text, "MetalCaptureEnabled=true")
	}) {
		t.Errorf("no warning of the capture among %+v", run.Events)
	}
}

func TestTheWholeMachinesDiagnosisNamesProcessesWithToolsAndARunRecordsThem(t *testing.T) {
	t.Parallel()
	p := aMacsProcess()
	d := &diagnosis{scan: &scan.Scan{Processes: []scan.Process{p}}}
	if text := d.text(false); !strings.Contains(text, "PID 42 (trainer) runs with NSZombieEnabled=YES") {
		t.Errorf("no note in\n%s", text)
	}
	if env := toolingEnv(&p); len(env) != 1 || env["NSZombieEnabled"] != "YES" {
		t.Errorf("recorded: %v", env)
	}
	if env := toolingEnv(&scan.Process{}); env != nil {
		t.Errorf("of a process without tools: %v", env)
	}
}
