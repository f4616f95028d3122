package nvml

import (
	"encoding/binary"
	"errors"
	"math"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/probe/probetest"
)

func TestKindNamesEveryListAProcessStandsIn(t *testing.T) {
	t.Parallel()
	for want, k := range map[string]Kind{"": 0, "compute": Compute, "compute+mps": Compute | MPS,
		"graphics": Graphics} {
		if got := k.String(); got != want {
			t.Errorf("Kind(%d) = %q, want %q", k, got, want)
		}
	}
}

func TestEveryCodeBecomesOneLineWithWhatToTry(t *testing.T) {
	t.Parallel()
	cases := []struct {
		code Code
		is   error
		want string
	}{
		{codeNotSupported, ErrUnsupported, "not supported"},
		{codeNotSupported, errors.ErrUnsupported, "not supported"},
		{codeNoPermission, ErrNoPermission, "run as root"},
		{codeGPULost, ErrGPULost, "Xid 79"},
		{codeVersionMismatch, ErrMismatch, "reboot"},
		{codeDriverNotLoaded, ErrNoDriver, "modprobe"},
		{codeLibraryNotFound, ErrNoLibrary, "reinstall"},
		{codeGPUNotFound, ErrNoDevice, "lspci"},
	}
	for _, c := range cases {
		err := failure("list processes", 3, c.code)
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("code %d: %q does not say %q or is not %v", c.code, err, c.want, c.is)
		}
		if !strings.Contains(err.Error(), "of device 3") {
			t.Errorf("code %d: %q does not name the device", c.code, err)
		}
	}
	for code := Code(1); code < 1000; code++ {
		if err := failure("x", -1, code); err == nil || explain(code).text == "" {
			t.Fatalf("code %d has no meaning", code)
		}
	}
}

func TestNotAvailableIsUnknownAndNeverANumber(t *testing.T) {
	t.Parallel()
	b := make([]byte, processV2Size)
	binary.NativeEndian.PutUint32(b, 42)
	binary.NativeEndian.PutUint64(b[8:], math.MaxUint64)
	binary.NativeEndian.PutUint32(b[16:], math.MaxUint32)
	binary.NativeEndian.PutUint32(b[20:], math.MaxUint32)
	p, ok := decodeProcess(b, 0, processV2Size)
	if !ok || p.PID != 42 || p.Bytes != Unknown || p.GPUInstance != NoInstance ||
		p.ComputeInstance != NoInstance {
		t.Errorf("got %+v", p)
	}
	m := make([]byte, memoryV2Size)
	for i := range m {
		m[i] = 0xff
	}
	if got := decodeMemoryV2(m); got != unknownMemory() {
		t.Errorf("memory: got %+v", got)
	}
}

func TestAProcessInTwoListsIsChargedOnce(t *testing.T) {
	t.Parallel()
	var list []Process
	list = merge(list, Process{PID: 7, Kind: Compute, Bytes: 100, GPUInstance: NoInstance})
	list = merge(list, Process{PID: 7, Kind: Graphics, Bytes: 140, GPUInstance: NoInstance})
	list = merge(list, Process{PID: 7, Kind: MPS, Bytes: Unknown, GPUInstance: NoInstance})
	list = merge(list, Process{PID: 7, Kind: Compute, Bytes: 5, GPUInstance: 1})
	list = merge(list, Process{PID: 8, Kind: Compute, Bytes: Unknown, GPUInstance: NoInstance})
	want := []Process{
		{PID: 7, Kind: Compute | Graphics | MPS, Bytes: 140, GPUInstance: NoInstance},
		{PID: 7, Kind: Compute, Bytes: 5, GPUInstance: 1},
		{PID: 8, Kind: Compute, Bytes: Unknown, GPUInstance: NoInstance},
	}
	if !reflect.DeepEqual(list, want) {
		t.Errorf("got %+v", list)
	}
	if got := dropParents(append([]Process(nil), list...)); len(got) != 2 || got[0].GPUInstance != 1 ||
		got[1].PID != 8 {
		t.Errorf("parent entries that an instance repeats must go: %+v", got)
	}
}

func TestPCIAddressIsWrittenAsTheKernelDoes(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"00000000:65:00.0": "0000:65:00.0", "0000:3B:00.0": "0000:3b:00.0",
		"00010000:01:00.0": "00010000:01:00.0", "": "",
	} {
		if got := normalPCI(in); got != want {
			t.Errorf("normalPCI(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestPIDMapFindsTheProcessOfAContainer(t *testing.T) {
	t.Parallel()
	root := probetest.NewRoot(t)
	for pid, ns := range map[string]string{"100": "100", "200": "200\t5", "300": "300\t5\t1"} {
		root.File("proc/"+pid+"/status", "NSpid:\t"+ns+"\n")
	}
	m, err := LoadPIDMap(root.Path)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Candidates(5); len(got) != 2 {
		t.Errorf("PID 5 exists in two containers, got %v", got)
	}
	if got := m.Candidates(1); !reflect.DeepEqual(got, []int{300}) {
		t.Errorf("PID 1: got %v", got)
	}
	if got := m.Candidates(100); got != nil {
		t.Errorf("a PID of the outer namespace needs no translation, got %v", got)
	}
	if _, err := LoadPIDMap(filepath.Join(root.Path, "none")); err == nil {
		t.Error("a missing proc file system must be an error")
	}
}

func TestSurroundingsNameContainerAndWSL(t *testing.T) {
	t.Parallel()
	root := probetest.NewRoot(t)
	root.File("proc/sys/kernel/osrelease", "6.6.0-microsoft-standard-WSL2\n")
	limits, foreign := surroundings(root.Path)
	if runtime.GOOS == "windows" {
		if len(limits) != 1 || !strings.Contains(limits[0], "WDDM") {
			t.Errorf("got %v", limits)
		}
		return
	}
	if len(limits) != 1 || !strings.Contains(limits[0], "WSL") || foreign {
		t.Errorf("got %v, %v", limits, foreign)
	}
}

const smiDevicesAnswer = `0, NVIDIA H200, GPU-aa, 00000000:65:00.0, 143771, 1634, 141500, 637, 580.159.04
1, NVIDIA Thor, GPU-bb, 00000000:01:00.0, [N/A], [N/A], [N/A], [N/A], 580.159.04
broken line
`

func TestSMIAnswersAreReadWithUnknownForBrackets(t *testing.T) {
	t.Parallel()
	devices, version := parseSMIDevices([]byte(smiDevicesAnswer))
	if len(devices) != 2 || version != "580.159.04" {
		t.Fatalf("got %d devices, driver %q", len(devices), version)
	}
	if d := devices[0]; d.PCI != "0000:65:00.0" || d.TotalBytes != 143771<<20 || d.UsedBytes != 1634<<20 ||
		d.ReservedBytes != 637<<20 {
		t.Errorf("device 0: %+v", d)
	}
	if d := devices[1]; d.TotalBytes != Unknown || len(d.Notes) != 1 {
		t.Errorf("device 1: %+v", d)
	}
	out := "GPU-aa, 4242, 1634\r\nGPU-bb, 4243, [N/A]\nGPU-cc, 1, 1\nGPU-aa, x, 1\nGPU-aa, 9, " +
		"99999999999999999999\nNo running processes found\n"
	got := parseSMIProcesses([]byte(out), devices)
	want := []Process{
		{PID: 4242, Device: 0, Kind: Compute, Bytes: 1634 << 20, GPUInstance: NoInstance,
			ComputeInstance: NoInstance},
		{PID: 4243, Device: 1, Kind: Compute, Bytes: Unknown, GPUInstance: NoInstance,
			ComputeInstance: NoInstance},
		{PID: 9, Device: 0, Kind: Compute, Bytes: Unknown, GPUInstance: NoInstance,
			ComputeInstance: NoInstance},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func FuzzSMI(f *testing.F) {
	f.Add([]byte(smiDevicesAnswer))
	f.Add([]byte("GPU-aa, 4242, 1634\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		devices, _ := parseSMIDevices(b)
		for _, p := range parseSMIProcesses(b, devices) {
			if p.Bytes < Unknown || p.PID < 0 {
				t.Fatalf("impossible process %+v", p)
			}
		}
	})
}

func FuzzLayouts(f *testing.F) {
	f.Add(make([]byte, 48), 24)
	f.Add([]byte{1, 2, 3}, 16)
	f.Fuzz(func(t *testing.T, b []byte, size int) {
		for i := -1; i < len(b)/16+2; i++ {
			if p, ok := decodeProcess(b, i, size); ok && (p.Bytes < Unknown || p.GPUInstance < NoInstance) {
				t.Fatalf("impossible process %+v", p)
			}
		}
		for _, m := range []memory{decodeMemory(b), decodeMemoryV2(b)} {
			if min(m.total, m.used, m.free, m.reserved) < Unknown {
				t.Fatalf("impossible memory %+v", m)
			}
		}
		if p := decodePeak(b); p.PeakBytes < Unknown || p.TimeMillis < Unknown {
			t.Fatalf("impossible peak %+v", p)
		}
		_ = text(b)
	})
}
