//go:build (amd64 || arm64) && !nodl

package nvml

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gpumem/gpumem/internal/loader/standin"
	"github.com/gpumem/gpumem/probe/nvml/nvmltest"
	"github.com/gpumem/gpumem/probe/probetest"
)

const (
	deviceA = "device NVIDIA-H200 GPU-aa 00000000:65:00.0 150754820096 1713373184 667942912"
	deviceB = "device NVIDIA-H200 GPU-bb 00000000:66:00.0 150754820096 0 667942912"
)

func open(tb testing.TB, v nvmltest.Variant, o Options, conf ...string) *Library {
	tb.Helper()
	o.Library = nvmltest.Build(tb, v, conf...)
	l, err := Open(o)
	if err != nil {
		tb.Fatalf("open the stub: %v", err)
	}
	tb.Cleanup(func() {
		if err := l.Close(); err != nil && !errors.Is(err, ErrTimeout) {
			tb.Errorf("close: %v", err)
		}
	})
	return l
}

func TestDevicesAreDescribedWithReservedApart(t *testing.T) {
	t.Parallel()
	l := open(t, nvmltest.Newest, Options{}, "driver 580.159.04", deviceA, deviceB)
	if v := l.DriverVersion(); v != "580.159.04" {
		t.Errorf("driver %q", v)
	}
	d := l.Devices()
	want := Device{Index: 0, Name: "NVIDIA-H200", UUID: "GPU-aa", PCI: "0000:65:00.0",
		TotalBytes: 150754820096,
		UsedBytes:  1713373184, ReservedBytes: 667942912, FreeBytes: 150754820096 - 1713373184 - 667942912}
	if len(d) != 2 || !reflect.DeepEqual(d[0], want) {
		t.Errorf("got  %+v\nwant %+v", d, want)
	}
}

func TestTheOldMemoryCallLeavesReservedUnknown(t *testing.T) {
	t.Parallel()
	d := open(t, nvmltest.OnlyV1, Options{}, deviceA).Devices()[0]
	if d.ReservedBytes != Unknown || d.UsedBytes != 1713373184+667942912 || len(d.Notes) != 1 {
		t.Errorf("got %+v", d)
	}
}

func TestProcessListsOfEveryVersionSayTheSame(t *testing.T) {
	t.Parallel()
	for _, v := range []nvmltest.Variant{nvmltest.Newest, nvmltest.OnlyV2, nvmltest.OnlyV1} {
		l := open(t, v, Options{}, deviceA, deviceB,
			"process 0 c 4242 1713373184", "process 0 g 4242 1713373180", "process 0 g 77 na",
			"process 1 m 5 9")
		got, err := l.Processes(0)
		want := []Process{
			{PID: 4242, Kind: Compute | Graphics, Bytes: 1713373184, GPUInstance: NoInstance,
				ComputeInstance: NoInstance},
			{PID: 77, Kind: Graphics, Bytes: Unknown, GPUInstance: NoInstance, ComputeInstance: NoInstance},
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("variant %q: got %+v, %v", v, got, err)
		}
		if got, _ := l.Processes(1); len(got) != 1 || got[0].Kind != MPS || got[0].Device != 1 {
			t.Errorf("variant %q: device 1: %+v", v, got)
		}
	}
}

func TestALongListIsReadWhole(t *testing.T) {
	t.Parallel()
	conf := []string{deviceA}
	for i := range 1000 {
		conf = append(conf, fmt.Sprintf("process 0 c %d %d", i+1, i))
	}
	got, err := open(t, nvmltest.Newest, Options{}, conf...).Processes(0)
	if err != nil || len(got) != 1000 || got[999].PID != 1000 || got[999].Bytes != 999 {
		t.Errorf("got %d processes, %v", len(got), err)
	}
}

func TestAListThatNeverFitsIsGivenUp(t *testing.T) {
	t.Parallel()
	_, err := open(t, nvmltest.Newest, Options{}, deviceA, "grow 10").Processes(0)
	if err == nil || !strings.Contains(err.Error(), "kept growing") {
		t.Errorf("got %v", err)
	}
}

func TestALibraryThatClaimsTooMuchIsNotBelieved(t *testing.T) {
	t.Parallel()
	got, err := open(t, nvmltest.Newest, Options{}, deviceA, "process 0 c 9 10",
		"lie 4000000000").Processes(0)
	if err != nil || len(got) > 2*firstRoom || got[0].PID != 9 {
		t.Errorf("got %d processes, %v", len(got), err)
	}
}

func TestMIGInstancesAreKeptApartAndCountedOnce(t *testing.T) {
	t.Parallel()
	l := open(t, nvmltest.Newest, Options{}, deviceA,
		"part 0 1 0 MIG-aa 1000 10", "part 0 2 0 MIG-bb 1000 20",
		"process 0 c 50 100 1 0", "process 0 c 50 200 2 0", "process 0 c 60 300 2 0")
	d := l.Devices()[0]
	if !d.MIG || len(d.Instances) != 2 || d.Instances[1].GPUInstance != 2 || d.Instances[1].UsedBytes != 20 {
		t.Errorf("device: %+v", d)
	}
	got, err := l.Processes(0)
	if err != nil || len(got) != 3 {
		t.Fatalf("got %+v, %v", got, err)
	}
	s := l.NewSampler()
	defer s.Close()
	if err := s.Sample([]int{50, 60, 70}); err != nil {
		t.Fatal(err)
	}
	if s.Bytes(0) != 300 || s.Bytes(1) != 300 || s.Bytes(2) != 0 {
		t.Errorf("got %d, %d, %d", s.Bytes(0), s.Bytes(1), s.Bytes(2))
	}
}

func TestPeaksOutliveTheirProcess(t *testing.T) {
	t.Parallel()
	l := open(t, nvmltest.Newest, Options{}, deviceA, deviceB, "accounting 0", "peak 0 42 5000 1234 0",
		"peak 0 43 na 0 1")
	got, err := l.Peaks(0)
	want := []Peak{{PID: 42, PeakBytes: 5000, TimeMillis: 1234}, {PID: 43, PeakBytes: Unknown, Running: true}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := l.Peaks(1); !errors.Is(err, ErrUnsupported) ||
		!strings.Contains(err.Error(), "--accounting-mode=1") {
		t.Errorf("accounting off: %v", err)
	}
}

func TestOpenSaysInOneLineWhatIsWrong(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		path string
		is   error
		want string
	}{
		{"absent", filepath.Join(t.TempDir(), "libnone.so"), ErrNoLibrary, "install the NVIDIA driver"},
		{"foreign", nvmltest.Build(t, nvmltest.NoHandle, deviceA), ErrNoLibrary,
			"nvmlDeviceGetHandleByIndex_v2"},
		{"mismatch", nvmltest.Build(t, nvmltest.Newest, "init 18"), ErrMismatch, "reboot"},
		{"no driver", nvmltest.Build(t, nvmltest.Newest, "init 9"), ErrNoDriver, "modprobe"},
		{"no permission", nvmltest.Build(t, nvmltest.Newest, "init 4"), ErrNoPermission, "root"},
	}
	for _, c := range cases {
		_, err := Open(Options{Library: c.path})
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestDriverWithoutDeviceOpensAndSaysSoWhenAsked(t *testing.T) {
	t.Parallel()
	l := open(t, nvmltest.Newest, Options{}, "driver 580")
	if n := l.Count(); n != 0 {
		t.Fatalf("%d devices", n)
	}
	if _, err := l.Processes(0); !errors.Is(err, ErrNoDevice) || !strings.Contains(err.Error(), "no device") {
		t.Errorf("got %v", err)
	}
	s := l.NewSampler()
	defer s.Close()
	if err := s.Sample([]int{1}); err != nil || s.Bytes(0) != Unknown {
		t.Errorf("no device is no figure: %d, %v", s.Bytes(0), err)
	}
}

func TestIndexOutOfRangeNamesTheRange(t *testing.T) {
	t.Parallel()
	l := open(t, nvmltest.Newest, Options{}, deviceA, deviceB)
	for _, i := range []int{-1, 2, 1 << 40} {
		if _, err := l.Processes(i); !errors.Is(err, ErrNoDevice) {
			t.Errorf("index %d: %v", i, err)
		}
	}
	if _, err := l.Processes(2); !strings.Contains(err.Error(), "0 to 1") {
		t.Errorf("got %v", err)
	}
}

func TestAnIntegratedGPUHasNoFiguresButANote(t *testing.T) {
	t.Parallel()
	d := open(t, nvmltest.Newest, Options{}, deviceA, "memory_code 0 3").Devices()[0]
	if d.TotalBytes != Unknown || d.UsedBytes != Unknown || len(d.Notes) == 0 ||
		!strings.Contains(d.Notes[0], "integrated") {
		t.Errorf("got %+v", d)
	}
}

func TestACoherentDeviceCarriesAWarning(t *testing.T) {
	t.Parallel()
	d := open(t, nvmltest.Newest, Options{},
		strings.Replace(deviceA, "NVIDIA-H200", "NVIDIA-GH200-480GB", 1)).Devices()[0]
	if len(d.Notes) != 1 || !strings.Contains(d.Notes[0], "node of the host's memory") {
		t.Errorf("got %v", d.Notes)
	}
}

func TestALostGPUMakesItsProcessesUnknownAndNothingElse(t *testing.T) {
	t.Parallel()
	l := open(t, nvmltest.Newest, Options{}, deviceA, "process 0 c 42 1000", "lost_after 3")
	s := l.NewSampler()
	defer s.Close()
	if err := s.Sample([]int{42, 43}); err != nil || s.Bytes(0) != 1000 || s.Bytes(1) != 0 {
		t.Fatalf("before: %d, %d, %v", s.Bytes(0), s.Bytes(1), err)
	}
	for range 3 { // and it stays so over both rounds of the sampler
		err := s.Sample([]int{42, 43})
		if !errors.Is(err, ErrGPULost) || s.Bytes(0) != Unknown || s.DeviceBytes(0, 0) != Unknown {
			t.Fatalf("after: %d, %d, %v", s.Bytes(0), s.DeviceBytes(0, 0), err)
		}
	}
	if d := l.Devices(); len(d) != 1 || d[0].TotalBytes != Unknown || len(d[0].Notes) == 0 {
		t.Errorf("a lost device is listed with its reason: %+v", d)
	}
}

func TestADeviceThatRefusesItsListDoesNotHideTheOthers(t *testing.T) {
	t.Parallel()
	l := open(t, nvmltest.Newest, Options{}, deviceA, deviceB, "list_code 0 3", "process 1 c 42 700")
	s := l.NewSampler()
	defer s.Close()
	err := s.Sample([]int{42})
	if !errors.Is(err, ErrUnsupported) || s.Bytes(0) != 700 || s.DeviceBytes(0, 0) != Unknown ||
		s.DeviceBytes(0, 1) != 700 {
		t.Errorf("got %d, %d, %d, %v", s.Bytes(0), s.DeviceBytes(0, 0), s.DeviceBytes(0, 1), err)
	}
	if s.Err(0) == nil || s.Err(1) != nil || s.Err(2) == nil {
		t.Errorf("errors: %v, %v, %v", s.Err(0), s.Err(1), s.Err(2))
	}
}

func TestNotAvailableStaysUnknownThroughTheSampler(t *testing.T) {
	t.Parallel()
	s := open(t, nvmltest.Newest, Options{}, deviceA, "process 0 c 42 na").NewSampler()
	defer s.Close()
	if err := s.Sample([]int{42}); err != nil || s.Bytes(0) != Unknown {
		t.Errorf("got %d, %v", s.Bytes(0), err)
	}
}

func TestAnUnlistedPIDInAContainerIsUnknownWhenTheListIsForeign(t *testing.T) {
	t.Parallel()
	root := probetest.NewRoot(t)
	root.Folder("proc/17")
	root.Link("proc/self/ns/pid", "pid:[4026532999]")
	l := open(t, nvmltest.Newest, Options{Root: root.Path}, deviceA, "process 0 c 990017 1000")
	s := l.NewSampler()
	defer s.Close()
	if err := s.Sample([]int{17}); err != nil || s.Bytes(0) != Unknown || s.DeviceBytes(0, 0) != Unknown {
		t.Errorf("host PIDs are listed: %d, %v", s.Bytes(0), err)
	}
	if len(l.Limits()) != 1 || !strings.Contains(l.Limits()[0], "container") {
		t.Errorf("limits: %v", l.Limits())
	}
}

func TestASlowDriverCostsTheCallerTheTimeoutOnly(t *testing.T) {
	t.Parallel()
	conf := []string{deviceA, "process 0 c 42 1000", "reload 1"}
	o := Options{Timeout: 50 * time.Millisecond,
		Library: nvmltest.Build(t, nvmltest.Newest, append(conf, "slow 300")...)}
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	s := l.NewSampler()
	defer s.Close()
	if err := s.Sample([]int{42}); !errors.Is(err, ErrTimeout) || s.Bytes(0) != Unknown || s.Err(0) == nil {
		t.Fatalf("got %d, %v", s.Bytes(0), err)
	}
	if err := l.Close(); !errors.Is(err, ErrTimeout) {
		t.Errorf("close while a call is stuck: %v", err)
	}
	standin.Write(t, o.Library, conf...)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if err := s.Sample([]int{42}); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("never recovered: %v", err)
		}
	}
	if s.Bytes(0) != 1000 {
		t.Errorf("after recovery: %d", s.Bytes(0))
	}
}

func TestUseAfterCloseIsAnErrorAndNoCrash(t *testing.T) {
	t.Parallel()
	l := open(t, nvmltest.Newest, Options{}, deviceA)
	s := l.NewSampler()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Processes(0); !errors.Is(err, ErrClosed) {
		t.Errorf("processes: %v", err)
	}
	if _, err := l.Peaks(0); !errors.Is(err, ErrClosed) {
		t.Errorf("peaks: %v", err)
	}
	if err := s.Sample([]int{1}); !errors.Is(err, ErrClosed) || s.Bytes(0) != Unknown {
		t.Errorf("sample: %v", err)
	}
	s.Close()
	s.Close()
	if err := s.Sample([]int{1}); !errors.Is(err, ErrClosed) {
		t.Errorf("sample of a closed sampler: %v", err)
	}
	if l.Close() != nil || l.Devices() != nil || l.Count() != 0 || l.DriverVersion() != "" {
		t.Error("a closed library knows nothing")
	}
}

func TestSampleDoesNotAllocate(t *testing.T) {
	l := open(t, nvmltest.Newest, Options{}, deviceA, "process 0 c 42 1000")
	s := l.NewSampler()
	defer s.Close()
	pids := []int{42}
	for range 4 { // warm both rounds and the library's buffers up
		if err := s.Sample(pids); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(200, func() { _ = s.Sample(pids) }); n > 0 {
		t.Errorf("%v allocations a sample", n)
	}
}

// writeProgram writes a script to be run. Another process writes it: a file that
// is open here for writing is so in each program that a parallel test starts
// meanwhile, and cannot be run until that one has ended ("text file busy").
func writeProgram(t *testing.T, path, text string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", `cat >"$0" && chmod 700 "$0"`, path)
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("write %s: %v: %s", path, err, out)
	}
}

func TestNvidiaSMIIsAskedWhereNothingIsLoaded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "nvidia-smi")
	script := "#!/bin/sh\ncase $1 in\n--query-gpu=*) cat <<'X'\n" + smiDevicesAnswer +
		"X\n;;\n*) echo 'GPU-aa, 42, 10';;\nesac\n"
	writeProgram(t, path, script)
	l, err := Open(Options{SMI: path})
	if err != nil {
		t.Fatal(err)
	}
	if d := l.Devices(); len(d) != 2 || d[0].TotalBytes != 143771<<20 {
		t.Errorf("devices: %+v", d)
	}
	s := l.NewSampler()
	defer s.Close()
	if err := s.Sample([]int{42}); err != nil || s.Bytes(0) != 10<<20 {
		t.Errorf("got %d, %v", s.Bytes(0), err)
	}
	if _, err := l.Peaks(0); !errors.Is(err, ErrUnsupported) {
		t.Errorf("peaks: %v", err)
	}
	if _, err := Open(Options{SMI: filepath.Join(dir, "none")}); err == nil {
		t.Error("a missing nvidia-smi must be an error")
	}
	failing := "#!/bin/sh\necho 'Failed to initialize NVML: Driver/library version mismatch'\nexit 18\n"
	writeProgram(t, filepath.Join(dir, "bad"), failing)
	if _, err := Open(Options{SMI: filepath.Join(dir, "bad")}); !errors.Is(err, ErrMismatch) {
		t.Errorf("mismatch: %v", err)
	}
}

func BenchmarkSample(b *testing.B) {
	for _, n := range []int{1, 8} {
		b.Run(fmt.Sprintf("devices=%d", n), func(b *testing.B) {
			conf := []string{"process 0 c 42 1000"}
			for range n {
				conf = append(conf, deviceA)
			}
			s := open(b, nvmltest.Newest, Options{}, conf...).NewSampler()
			defer s.Close()
			pids := []int{42}
			b.ReportAllocs()
			for b.Loop() {
				_ = s.Sample(pids)
			}
		})
	}
}
