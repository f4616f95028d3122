//go:build (amd64 || arm64) && !nodl

package scan

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/gpumem/gpumem/internal/loader/standin"
	"github.com/gpumem/gpumem/probe/apple/appletest"
)

// aMac opens the source of macOS on stand-ins of its libraries.
func aMac(t *testing.T, process, gpu []string) *Sources {
	t.Helper()
	s := OpenSources(context.Background(), SourceOptions{Apple: appletest.Options(t, process, gpu)})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

var oneGPU = []string{"gpu AGXAcceleratorG15X", "model Apple M3 Max", "statistic 5000 In use system memory",
	"statistic 2 recoveryCount"}

func TestAMacsProcessesAreChargedByTheLedgerAndOthersAreUnknown(t *testing.T) {
	t.Parallel()
	idle := exec.Command("sleep", "1000")
	if err := idle.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = idle.Process.Kill()
		_ = idle.Wait()
	}()
	own, parent, quiet := os.Getpid(), os.Getppid(), idle.Process.Pid
	s := aMac(t, []string{
		fmt.Sprintf("process %d resident=9 footprint=9 graphics=4000 graphics_compressed=96", own),
		fmt.Sprintf("process %d foreign=1", parent),
		fmt.Sprintf("process %d resident=9 footprint=9 graphics=0", quiet),
	}, append(oneGPU, fmt.Sprintf("client %d test 3000", own), fmt.Sprintf("client %d test 4000", own),
		fmt.Sprintf("client %d shell 7", parent)))
	if !s.Here() || len(s.Absent()) != 0 {
		t.Fatalf("absent: %v", s.Absent())
	}
	got, err := Read(context.Background(), Options{PIDs: []int{own, parent, quiet}, Sources: s})
	if err != nil {
		t.Fatal(err)
	}
	byPID := map[int]Process{}
	for _, p := range got.Processes {
		byPID[p.PID] = p
	}
	want := Charge{PID: own, Device: 0, LocalBytes: Unknown, HostBytes: 4096, Clients: 2, Busy: 7000}
	if p := byPID[own]; p.GPUBytes() != 4096 || len(p.GPU) != 1 || p.GPU[0] != want {
		t.Errorf("own: %+v, want %+v", p.GPU, want)
	}
	want = Charge{PID: parent, Device: 0, LocalBytes: Unknown, HostBytes: Unknown, Clients: 1, Busy: 7}
	if p := byPID[parent]; p.GPUBytes() != Unknown || len(p.GPU) != 1 || p.GPU[0] != want {
		t.Errorf("another user's: %d, %+v, want unknown, %+v", p.GPUBytes(), p.GPU, want)
	}
	if p := byPID[quiet]; p.GPUBytes() != 0 || len(p.GPU) != 0 {
		t.Errorf("without graphics: %d, %+v, want 0", p.GPUBytes(), p.GPU)
	}
	d := got.Devices[0]
	if d.Source != Apple || d.Name != "Apple M3 Max" || d.Driver != "AGXAcceleratorG15X" || !d.Integrated ||
		d.UsedBytes != 5000 || d.TotalBytes != Unknown || d.HeldBytes != Unknown || len(d.Notes) != 1 {
		t.Errorf("device %+v", d)
	}
}

func TestAKernelWithoutTheLedgerLeavesGPUBytesUnknown(t *testing.T) {
	t.Parallel()
	own := os.Getpid()
	s := aMac(t, []string{fmt.Sprintf("process %d resident=9 footprint=9 graphics=4000 words=42", own)},
		oneGPU)
	got, err := Read(context.Background(), Options{PIDs: []int{own}, Sources: s})
	if err != nil || got.Processes[0].GPUBytes() != Unknown {
		t.Errorf("%d, %v, want unknown", got.Processes[0].GPUBytes(), err)
	}
}

func TestWithTwoGPUsTheLedgerIsNobodys(t *testing.T) {
	t.Parallel()
	own := os.Getpid()
	s := aMac(t, []string{fmt.Sprintf("process %d resident=9 footprint=9 graphics=4000", own)},
		append(oneGPU, "gpu AMDRadeonX6000", "statistic 100 vramUsedBytes", "statistic 900 vramFreeBytes"))
	got, err := Read(context.Background(), Options{PIDs: []int{own}, Sources: s})
	if err != nil {
		t.Fatal(err)
	}
	r := s.Reader()
	defer r.Close()
	again, err := r.Read([]int{own}, nil)
	if b := got.Processes[0].GPUBytes(); b != Unknown || len(again) != 0 || err != nil {
		t.Errorf("%d, and again and again %+v, %v, want unknown and nothing", b, again, err)
	}
	if d := got.Devices[1]; d.TotalBytes != 1000 || d.UsedBytes != 100 || d.Integrated {
		t.Errorf("the one with memory of its own: %+v", d)
	}
	if !slices.ContainsFunc(got.Warnings, func(w string) bool { return w == s.Limits()[0] }) {
		t.Errorf("no warning says so: %q", got.Warnings)
	}
}

func TestTheLedgerIsReadAgainAndAgainAndEndsAtZero(t *testing.T) {
	t.Parallel()
	o := appletest.Options(t, []string{"process 42 resident=9 graphics=100", "process 7 foreign=1",
		"process 8 resident=9"}, oneGPU)
	s := OpenSources(context.Background(), SourceOptions{Apple: o})
	defer s.Close()
	if !s.Here() {
		t.Fatalf("absent: %v", s.Absent())
	}
	r := s.Reader()
	defer r.Close()
	one := func(bytes int64) []Charge {
		return []Charge{{PID: 42, Device: 0, LocalBytes: Unknown, HostBytes: bytes}}
	}
	pids := []int{42, 8}
	for i, step := range []struct {
		conf string
		want []Charge
	}{
		{"process 42 resident=9 graphics=100", one(100)},
		{"process 42 resident=9 graphics=200 graphics_compressed=50", one(250)},
		{"process 42 resident=9 graphics=300 task=2", one(300)}, // after exec
		{"process 42 resident=9 graphics=0 task=2", one(0)},
		{"process 42 resident=9 graphics=7 words=42 task=2", nil}, // not told any more
		{"process 42 started=1 exited=9 task=2", one(0)},          // has ended
	} {
		standin.Write(t, o.System, step.conf, "process 8 resident=9")
		got, err := r.Read(pids, nil)
		if err != nil || !slices.Equal(got, step.want) {
			t.Errorf("step %d: %+v, %v, want %+v", i, got, err, step.want)
		}
	}
}

func TestAMacWithoutAGPUSaysSo(t *testing.T) {
	t.Parallel()
	s := aMac(t, nil, nil)
	if a := s.Absent(); s.Here() || len(a) != 1 || a[0].Source != Apple || a[0].Err.Error() == "" {
		t.Errorf("%+v", a)
	}
}

func TestElsewhereMacOSIsNoNewsUnlessAskedFor(t *testing.T) {
	t.Parallel()
	s := OpenSources(context.Background(), SourceOptions{Root: t.TempDir()})
	defer s.Close()
	for _, a := range s.Absent() {
		if a.Source == Apple {
			t.Errorf("said without being asked: %v", a.Err)
		}
	}
	asked := OpenSources(context.Background(), SourceOptions{Only: []string{Apple}})
	defer asked.Close()
	if a := asked.Absent(); len(a) != 1 || a[0].Source != Apple {
		t.Errorf("asked for: %+v", a)
	}
}

func TestUnknownBusyTimeIsNotZero(t *testing.T) {
	t.Parallel()
	own := os.Getpid()
	s := aMac(t, []string{fmt.Sprintf("process %d resident=9 footprint=9 graphics=1", own)}, oneGPU)
	got, err := Read(context.Background(), Options{PIDs: []int{own}, Sources: s})
	if err != nil {
		t.Fatal(err)
	}
	if g := got.Processes[0].GPU; len(g) != 1 || g[0].Clients != 0 || g[0].Busy != time.Duration(Unknown) {
		t.Errorf("%+v", g)
	}
}
