package drm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/gpumem/gpumem/probe/probetest"
)

// newTree is a made-up machine without a card.
func newTree(tb testing.TB) probetest.Root {
	tb.Helper()
	t := probetest.NewRoot(tb)
	t.Folder("sys/class")
	return t
}

func client(pdev string, id, kib int) string {
	return fmt.Sprintf("drm-driver:\tamdgpu\ndrm-pdev:\t%s\ndrm-client-id:\t%d\ndrm-memory-vram:\t%d KiB\n",
		pdev, id, kib)
}

func open(tb testing.TB, o Options) *Index {
	tb.Helper()
	x, err := Open(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = x.Close() })
	return x
}

const gpu0, gpu1 = "0000:03:00.0", "0000:43:00.0"

func TestAClientOpenTwiceIsChargedOnce(t *testing.T) {
	t.Parallel()
	tr := newTree(t)
	tr.FD(10, 3, "/dev/dri/renderD128", client(gpu0, 1, 1024))
	tr.FD(10, 4, "/dev/dri/card0", client(gpu0, 1, 1024))
	tr.FD(10, 5, "/dev/dri/renderD128", client(gpu0, 2, 512))
	tr.FD(10, 6, "/dev/dri/renderD129", client(gpu1, 1, 256))
	tr.FD(10, 7, "/home/x/dev/dri/card0", client(gpu1, 9, 256))
	tr.FD(10, 8, "socket:[123]", client(gpu1, 10, 256))
	got, err := open(t, Options{Root: tr.Path}).Sample(10, nil)
	if err != nil || len(got) != 2 {
		t.Fatalf("got %+v, %v", got, err)
	}
	sum := map[string]int64{}
	for _, u := range got {
		sum[u.PDev] = u.LocalBytes
	}
	if sum[gpu0] != 1536<<10 || sum[gpu1] != 256<<10 {
		t.Errorf("got %v", sum)
	}
}

func TestADeviceCountsAClientOnceOverAllProcesses(t *testing.T) {
	t.Parallel()
	tr := newTree(t)
	tr.FD(10, 3, "/dev/dri/renderD128", client(gpu0, 1, 1024))
	tr.FD(11, 9, "/dev/dri/renderD128", client(gpu0, 1, 1024)) // the compositor holds it too
	tr.FD(11, 8, "/dev/dri/renderD128", client(gpu0, 2, 100))
	tr.FD(12, 1, "/dev/null", "pos:\t0\n")
	tr.FD(13, 1, "/dev/accel/accel0", string(fixture(t, "amdxdna")))
	got, err := open(t, Options{Root: tr.Path}).Scan()
	if err != nil {
		t.Fatal(err)
	}
	amd := func(kib int64, clients int) Usage {
		return Usage{Driver: "amdgpu", PDev: gpu0, LocalBytes: kib << 10, HostBytes: Unknown,
			Clients: clients, Shared: true}
	}
	npu := Usage{Driver: "amdxdna_accel_driver", PDev: "0000:c5:00.1", LocalBytes: Unknown,
		HostBytes: 32 << 20, Clients: 1}
	want := Scan{
		Processes: []Process{{10, []Usage{amd(1024, 1)}}, {11, []Usage{amd(1124, 2)}}, {13, []Usage{npu}}},
		Devices:   []Usage{amd(1124, 2), npu},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestTheIndexIsReadAgainAfterTheIntervalOnly(t *testing.T) {
	t.Parallel()
	tr := newTree(t)
	tr.FD(10, 3, "/dev/dri/renderD128", client(gpu0, 1, 1))
	now := time.Unix(0, 0)
	x := open(t, Options{Root: tr.Path, Now: func() time.Time { return now }})
	total := func() int64 {
		t.Helper()
		got, err := x.Sample(10, nil)
		if err != nil || len(got) != 1 {
			t.Fatalf("got %+v, %v", got, err)
		}
		return got[0].LocalBytes
	}
	if n := total(); n != 1<<10 {
		t.Fatalf("first: %d", n)
	}
	tr.File("proc/10/fdinfo/3", client(gpu0, 1, 2))
	tr.FD(10, 4, "/dev/dri/renderD128", client(gpu0, 2, 10))
	if n := total(); n != 2<<10 {
		t.Errorf("known descriptors are reread at once, new ones not: %d", n)
	}
	now = now.Add(DefaultRescan)
	if n := total(); n != 12<<10 {
		t.Errorf("after the interval: %d", n)
	}
	if err := os.Remove(filepath.Join(tr.Path, "proc/10/fd/3")); err != nil {
		t.Fatal(err)
	}
	now = now.Add(DefaultRescan)
	if n := total(); n != 10<<10 {
		t.Errorf("after a descriptor was closed: %d", n)
	}
}

func TestAProcessThatEndsIsForgottenWithItsFiles(t *testing.T) {
	t.Parallel()
	tr := newTree(t)
	tr.FD(10, 3, "/dev/dri/renderD128", client(gpu0, 1, 1))
	now := time.Unix(0, 0)
	x := open(t, Options{Root: tr.Path, Now: func() time.Time { return now }})
	if _, err := x.Scan(); err != nil || x.open != 1 {
		t.Fatalf("%d files open, %v", x.open, err)
	}
	if err := os.RemoveAll(filepath.Join(tr.Path, "proc/10")); err != nil {
		t.Fatal(err)
	}
	s, err := x.Scan()
	if err != nil || len(s.Processes) != 0 || x.open != 0 || len(x.processes) != 0 {
		t.Errorf("%d files open, %+v, %v", x.open, s, err)
	}
	if _, err := x.Sample(10, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a process that does not exist: %v", err)
	}
}

func TestMoreFilesThanTheLimitAreReadAllTheSame(t *testing.T) {
	t.Parallel()
	tr := newTree(t)
	for i := range maxOpen + 10 {
		tr.FD(10, i, "/dev/dri/renderD128", client(gpu0, i, 1))
	}
	x := open(t, Options{Root: tr.Path})
	got, err := x.Sample(10, nil)
	if err != nil || len(got) != 1 || got[0].LocalBytes != (maxOpen+10)<<10 || x.open != maxOpen {
		t.Errorf("%d files open, %+v, %v", x.open, got, err)
	}
}

func TestBadFiguresBecomeAWarning(t *testing.T) {
	t.Parallel()
	tr := newTree(t)
	tr.FD(10, 3, "/dev/dri/renderD128", "drm-driver: odd\ndrm-total-vram: 7 bushels\n")
	s, err := open(t, Options{Root: tr.Path}).Scan()
	if err != nil || len(s.Warnings) != 1 || s.Processes[0].Devices[0].LocalBytes != Unknown {
		t.Errorf("got %+v, %v", s, err)
	}
}

func TestProcessesOfOthersAreCountedAsHidden(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		// Root sees everything, so here the claim is that nothing is hidden.
		s, err := open(t, Options{}).Scan()
		if err != nil || len(s.Hidden) != 0 {
			t.Errorf("root: %d hidden, %v", s.Hidden, err)
		}
		return
	}
	tr := newTree(t)
	tr.FD(10, 3, "/dev/dri/renderD128", client(gpu0, 1, 1))
	tr.File("proc/10/statm", "100 10 1 1 0 1 0\n")
	tr.FD(2, 3, "/dev/null", "")
	tr.File("proc/2/statm", "0 0 0 0 0 0 0\n") // a kernel thread
	for _, pid := range []string{"10", "2"} {
		dir := filepath.Join(tr.Path, "proc", pid, "fd")
		if err := os.Chmod(dir, 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
	}
	s, err := open(t, Options{Root: tr.Path}).Scan()
	if err != nil || len(s.Hidden) != 1 {
		t.Errorf("%d hidden, %v", s.Hidden, err)
	}
}

func TestTheRunningSystemIsScannedWithoutError(t *testing.T) {
	t.Parallel()
	x := open(t, Options{})
	s, err := x.Scan()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range s.Processes {
		for _, u := range p.Devices {
			if u.LocalBytes < Unknown || u.HostBytes < Unknown || u.Clients < 1 {
				t.Errorf("process %d: %+v", p.PID, u)
			}
		}
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Scan(); !errors.Is(err, ErrClosed) {
		t.Errorf("scan after close: %v", err)
	}
	if _, err := x.Sample(1, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("sample after close: %v", err)
	}
}

func TestSysfsTotalsOfACardAreReadAndAbsenceIsExplained(t *testing.T) {
	t.Parallel()
	tr := newTree(t)
	base := "sys/class/drm/card10/device/"
	tr.File(base+"uevent", "DRIVER=amdgpu\nPCI_CLASS=38000\nPCI_SLOT_NAME=0000:03:00.0\n")
	tr.File(base+"vendor", "0x1002\n")
	tr.File(base+"device", "0x74a1\n")
	tr.File(base+"mem_info_vram_total", "206141652992\n")
	tr.File(base+"mem_info_vram_used", "297512960\n")
	tr.File(base+"mem_info_gtt_used", "nonsense\n")
	tr.File("sys/class/drm/card2/device/uevent", "DRIVER=xe\nPCI_SLOT_NAME=0000:04:00.0\n")
	tr.File("sys/class/drm/card3/device/uevent", "DRIVER=nvidia\n")
	tr.File("sys/class/drm/card2-DP-1/status", "connected\n")
	tr.File("sys/class/drm/renderD128/dev", "226:128\n")
	got, err := Devices(tr.Path)
	if err != nil || len(got) != 3 || got[0].Card != "card2" || got[2].Card != "card10" {
		t.Fatalf("got %+v, %v", got, err)
	}
	d := got[2]
	if d.PDev != gpu0 || d.Vendor != "0x1002" || d.VRAMTotal != 206141652992 || d.VRAMUsed != 297512960 ||
		d.GTTUsed != Unknown || len(d.Notes) != 0 {
		t.Errorf("amdgpu: %+v", d)
	}
	if got[0].VRAMTotal != Unknown || len(got[0].Notes) != 1 || len(got[1].Notes) != 1 {
		t.Errorf("others: %+v", got[:2])
	}
	if list, err := Devices(t.TempDir()); err != nil || len(list) != 0 {
		t.Errorf("a machine without cards: %v, %v", list, err)
	}
}

func TestATickAllocatesNothing(t *testing.T) {
	tr := newTree(t)
	tr.FD(10, 3, "/dev/dri/renderD128", string(fixture(t, "amdgpu-new")))
	tr.FD(10, 4, "/dev/dri/renderD129", string(fixture(t, "xe")))
	x := open(t, Options{Root: tr.Path, Rescan: time.Hour})
	dst, err := x.Sample(10, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { dst, _ = x.Sample(10, dst[:0]) }); n > 0 {
		t.Errorf("%v allocations a tick", n)
	}
}

func BenchmarkTick(b *testing.B) {
	tr := newTree(b)
	tr.FD(10, 3, "/dev/dri/renderD128", string(fixture(b, "amdgpu-new")))
	tr.FD(10, 4, "/dev/dri/renderD129", string(fixture(b, "xe")))
	x := open(b, Options{Root: tr.Path, Rescan: time.Hour})
	dst, _ := x.Sample(10, nil)
	b.ReportAllocs()
	for b.Loop() {
		dst, _ = x.Sample(10, dst[:0])
	}
}

func BenchmarkScanOfThisMachine(b *testing.B) {
	x := open(b, Options{Rescan: time.Nanosecond})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := x.Scan(); err != nil {
			b.Fatal(err)
		}
	}
}
