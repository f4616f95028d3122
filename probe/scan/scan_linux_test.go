package scan

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gpumem/gpumem/internal/loader/standin"
	"github.com/gpumem/gpumem/probe/nvml"
	"github.com/gpumem/gpumem/probe/nvml/nvmltest"
	"github.com/gpumem/gpumem/probe/probetest"
)

// tree is a made-up machine.
type tree struct {
	probetest.Root
	tb testing.TB
}

func newTree(tb testing.TB) tree {
	tb.Helper()
	t := tree{probetest.NewRoot(tb), tb}
	t.File("proc/uptime", "1000.00 900.00\n")
	t.File("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 500 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n")
	t.File("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n# broken line\nana:x:1000:1000::/home/ana:/bin/sh\n")
	return t
}

// process adds one: rss in KiB, none when negative.
func (t tree) process(pid int, name, state string, uid, rss int, exe string, words ...string) {
	t.tb.Helper()
	dir := "proc/" + strconv.Itoa(pid)
	t.File(dir+"/stat", fmt.Sprintf("%d (%s) %s 1 1 1 0 -1 4194560 0 0 0 0 150 50 0 0 20 0 3 0 90000 0 0\n",
		pid, name, state))
	memory := ""
	if rss >= 0 {
		memory = fmt.Sprintf(
			"VmRSS:\t%d kB\nRssAnon:\t%d kB\nRssFile:\t0 kB\nRssShmem:\t0 kB\nVmSwap:\t8 kB\n", rss, rss)
	}
	t.File(dir+"/status", fmt.Sprintf("Name:\t%s\nTgid:\t%d\nPid:\t%d\nUid:\t%d\t%d\t%d\t%d\n%s", name,
		pid, pid, uid, uid, uid, uid, memory))
	t.File(dir+"/cmdline", strings.Join(words, "\x00")+"\x00")
	t.File(dir+"/statm", fmt.Sprintf("100 %d 0 0 0 0 0\n", max(rss, 0)/4))
	if exe != "" {
		t.Link(dir+"/exe", exe)
	}
}

// client gives a process a descriptor of an AMD card.
func (t tree) client(pid, fd int, pci string, id, vram, gtt int) {
	t.tb.Helper()
	t.FD(pid, fd, "/dev/dri/renderD128", fmt.Sprintf(
		"drm-driver:\tamdgpu\ndrm-pdev:\t%s\ndrm-client-id:\t%d\ndrm-memory-vram:\t%d "+
			"KiB\ndrm-memory-gtt:\t%d KiB\n", pci, id, vram, gtt))
}

func (t tree) card(number int, pci string, total, used int64) {
	dir := fmt.Sprintf("sys/class/drm/card%d/device/", number)
	t.File(dir+"uevent", "DRIVER=amdgpu\nPCI_SLOT_NAME="+pci+"\n")
	t.File(dir+"mem_info_vram_total", fmt.Sprintln(total))
	t.File(dir+"mem_info_vram_used", fmt.Sprintln(used))
}

func (t tree) rocm(pid int, gpu uint32, bytes int64) {
	t.File(fmt.Sprintf("sys/class/kfd/kfd/proc/%d/vram_%d", pid, gpu), fmt.Sprintln(bytes))
}

func (t tree) node(index int, gpu uint32, location int) {
	dir := fmt.Sprintf("sys/class/kfd/kfd/topology/nodes/%d/", index)
	t.File(dir+"gpu_id", fmt.Sprintln(gpu))
	t.File(dir+"name", "gfx942\n")
	t.File(dir+"properties", fmt.Sprintf("location_id %d\ndomain 0\n", location))
}

func (t tree) read(o Options) *Scan {
	t.tb.Helper()
	o.Root = t.Path
	s, err := Read(context.Background(), o)
	if err != nil {
		t.tb.Fatal(err)
	}
	return s
}

func (t tree) sources(conf ...string) *Sources {
	t.tb.Helper()
	o := SourceOptions{Root: t.Path, NVML: nvml.Options{Library: "/nonexistent/libnvidia-ml.so.1"}}
	if len(conf) > 0 {
		o.NVML.Library = nvmltest.Build(t.tb, nvmltest.Newest, conf...)
	}
	s := OpenSources(context.Background(), o)
	t.tb.Cleanup(func() { s.Close() })
	return s
}

func find(t testing.TB, s *Scan, pid int) Process {
	t.Helper()
	for _, p := range s.Processes {
		if p.PID == pid {
			return p
		}
	}
	t.Fatalf("process %d is not in the scan", pid)
	return Process{}
}

func TestAProcessIsDescribedByItsFiles(t *testing.T) {
	t.Parallel()
	m := newTree(t)
	m.File("opt/trainer", "no elf file")
	m.process(42, "odd) (name", "S", 1000, 4096, filepath.Join(m.Path, "opt/trainer"), "trainer",
		"--epochs", "3")
	m.process(43, "dead", "Z", 1000, -1, "")
	m.process(44, "small", "R", 77, 64, "/gone/small (deleted)", "small")
	s := m.read(Options{})
	p := find(t, s, 42)
	if p.Name != "odd) (name" || p.Owner != "ana" || p.UID != 1000 || p.State != Sleeping || p.Threads != 3 ||
		p.Parent != 1 {
		t.Errorf("got %+v", p)
	}
	if p.Age != 100*time.Second || p.CPU != 2*time.Second || p.Footprint() != 4104<<10 ||
		p.Memory.Anon != 4096<<10 {
		t.Errorf("age %v, CPU %v, memory %+v", p.Age, p.CPU, p.Memory)
	}
	if len(p.Command) != 3 || p.Command[2] != "3" || !strings.HasPrefix(p.Version.ID, "~") ||
		p.Version.Modified.IsZero() {
		t.Errorf("command %q, version %+v", p.Command, p.Version)
	}
	if !p.GPUUnknown || p.GPUBytes() != Unknown {
		t.Error("without a source GPU bytes must be unknown, not zero")
	}
	if z := s.Zombies(); len(z) != 1 || z[0].PID != 43 || z[0].Footprint() != Unknown {
		t.Errorf("zombies %+v", z)
	}
	if p := find(t, s, 44); !p.Deleted || p.Executable != "/gone/small" || p.Owner != "77" {
		t.Errorf("deleted executable: %+v", p)
	}
	if s.Processes[0].PID != 42 || s.Processes[2].PID != 43 {
		t.Errorf("not by footprint: %v", []int{s.Processes[0].PID, s.Processes[1].PID, s.Processes[2].PID})
	}
	if s.Totals.Memory != 1000<<10 || s.Totals.Available != 500<<10 {
		t.Errorf("totals %+v", s.Totals)
	}
}

func TestThreadsOfTheKernelAreCountedAndNotListed(t *testing.T) {
	t.Parallel()
	m := newTree(t)
	m.File("proc/2/stat", "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 1 0 0\n")
	m.File("proc/2/status", "Name:\tkthreadd\nTgid:\t2\nUid:\t0\t0\t0\t0\n")
	m.process(3, "a", "S", 0, 1, "")
	if s := m.read(Options{}); s.Kernel != 1 || len(s.Processes) != 1 {
		t.Errorf("%d threads of the kernel, %d processes", s.Kernel, len(s.Processes))
	}
	var e *ThreadError
	if _, err := One(m.Path, 2); !errors.As(err, &e) || e.Of != 0 ||
		!strings.Contains(err.Error(), "kernel") {
		t.Errorf("got %v", err)
	}
}

func TestAPidThatIsNoProcessIsSaidSo(t *testing.T) {
	t.Parallel()
	m := newTree(t)
	m.process(10, "main", "S", 0, 1, "")
	m.process(11, "main", "S", 0, 1, "")
	m.File("proc/10/comm", "main\n")
	m.File("proc/11/status", "Tgid:\t10\nPid:\t11\n")
	var e *ThreadError
	if _, err := One(m.Path, 11); !errors.As(err, &e) || e.Of != 10 || e.Name != "main" {
		t.Errorf("got %v", err)
	}
	if _, err := One(m.Path, 12); !errors.Is(err, ErrNoProcess) {
		t.Errorf("got %v", err)
	}
	if _, err := Read(context.Background(), Options{Root: m.Path, PIDs: []int{10, 12}}); !errors.Is(err,
		ErrNoProcess) {
		t.Errorf("got %v", err)
	}
	if _, err := Read(context.Background(), Options{Root: filepath.Join(m.Path, "nothing")}); err == nil {
		t.Error("a machine without proc was read")
	}
}

func TestROCmProcessesAreChargedTheGreaterFigureAndNotTheSum(t *testing.T) {
	t.Parallel()
	m := newTree(t)
	m.process(42, "train", "S", 0, 100, "")
	m.process(43, "view", "S", 0, 100, "")
	m.card(1, "0000:43:00.0", 1<<30, 500<<20)
	m.node(1, 51110, 0x4300)
	m.client(42, 5, "0000:43:00.0", 1, 100<<10, 8)
	m.client(43, 5, "0000:43:00.0", 2, 50<<10, 0)
	m.rocm(42, 51110, 120<<20)
	src := m.sources()
	s := m.read(Options{Sources: src})
	if len(s.Devices) != 1 || s.Devices[0].Driver != "amdgpu" ||
		!strings.HasPrefix(s.Devices[0].Name, "gfx942") {
		t.Fatalf("devices %+v", s.Devices)
	}
	p := find(t, s, 42)
	if len(p.GPU) != 1 || p.GPU[0].LocalBytes != 120<<20 || p.GPU[0].HostBytes != 8<<10 ||
		p.GPUBytes() != 120<<20+8<<10 {
		t.Errorf("charged %+v", p.GPU)
	}
	if d := s.Devices[0]; d.HeldBytes != 170<<20 || d.UnchargedBytes != 330<<20 {
		t.Errorf("held %d, uncharged %d", d.HeldBytes, d.UnchargedBytes)
	}
	got, err := src.Reader().Read([]int{42, 43, 44}, nil)
	if err != nil || len(got) != 2 || got[0].LocalBytes != 120<<20 || got[1].LocalBytes != 50<<20 {
		t.Errorf("read %+v, %v", got, err)
	}
}

func TestMemoryOfProcessesThatAreGoneIsListedByDevice(t *testing.T) {
	t.Parallel()
	m := newTree(t)
	m.process(42, "train", "S", 0, 100, "")
	m.process(90, "in a container", "S", 0, 100, "")
	m.File("proc/90/status", "Tgid:\t90\nNSpid:\t90\t7\nUid:\t0\t0\t0\t0\nVmRSS:\t4 kB\n")
	src := m.sources("device H200 GPU-aa 00000000:65:00.0 1000000 900000 5000",
		"process 0 c 42 300000", "process 0 c 4242 500000", "process 0 c 7 1000")
	s := m.read(Options{Sources: src})
	if len(s.Elsewhere) != 2 {
		t.Fatalf("elsewhere %+v", s.Elsewhere)
	}
	inner, gone := s.Elsewhere[0], s.Elsewhere[1]
	if !inner.Namespace || inner.PID != 7 || len(inner.Candidates) != 1 || inner.Candidates[0] != 90 {
		t.Errorf("inner %+v", inner)
	}
	if gone.Namespace || gone.PID != 4242 || gone.LocalBytes != 500000 {
		t.Errorf("gone %+v", gone)
	}
	if d := s.Devices[0]; d.HeldBytes != 300000 || d.ElsewhereBytes != 501000 || d.UnchargedBytes != 99000 ||
		d.ReservedBytes != 5000 {
		t.Errorf("device %+v", d)
	}
	if p := find(t, s, 90); p.GPUUnknown || p.GPUBytes() != 0 {
		t.Errorf("a process that the driver does not list holds 0: %+v", p)
	}
}

func TestInAContainerAProcessThatIsNotListedIsUnknown(t *testing.T) {
	t.Parallel()
	m := newTree(t)
	m.process(42, "train", "S", 0, 100, "")
	m.Link("proc/self/ns/pid", "pid:[4026532000]")
	src := m.sources("device H200 GPU-aa 00000000:65:00.0 1000000 900000 5000", "process 0 c 4242 500000")
	s := m.read(Options{Sources: src})
	if p := find(t, s, 42); !p.GPUUnknown || p.GPUBytes() != Unknown {
		t.Errorf("got %+v", p)
	}
	if len(s.Elsewhere) != 1 || !s.Elsewhere[0].Namespace || len(s.Warnings) == 0 {
		t.Errorf("elsewhere %+v, warnings %q", s.Elsewhere, s.Warnings)
	}
}

func TestNotAvailableIsUnknownInTheSumsToo(t *testing.T) {
	t.Parallel()
	m := newTree(t)
	m.process(42, "train", "S", 0, 100, "")
	s := m.read(Options{Sources: m.sources("device H200 GPU-aa 00000000:65:00.0 1000000 900000 5000",
		"process 0 c 42 na")})
	if d := s.Devices[0]; d.HeldBytes != Unknown || d.UnchargedBytes != Unknown {
		t.Errorf("device %+v", d)
	}
	if p := find(t, s, 42); len(p.GPU) != 1 || p.GPU[0].Bytes() != Unknown {
		t.Errorf("charge %+v", p.GPU)
	}
}

func TestADeviceLostWhileReadingIsOneErrorAndTheOthersGoOn(t *testing.T) {
	t.Parallel()
	m := newTree(t)
	m.process(42, "train", "S", 0, 100, "")
	m.process(43, "other", "S", 0, 100, "")
	conf := []string{
		"device A GPU-aa 00000000:65:00.0 1000000 900000 5000",
		"device B GPU-bb 00000000:66:00.0 1000000 0 5000",
		"process 0 c 42 300000", "process 1 c 43 7", "reload 1",
	}
	library := nvmltest.Build(t, nvmltest.Newest, conf...)
	src := OpenSources(context.Background(),
		SourceOptions{Root: m.Path, NVML: nvml.Options{Library: library}})
	defer src.Close()
	r := src.Reader()
	defer r.Close()
	got, err := r.Read([]int{42, 43}, nil)
	if err != nil || len(got) != 2 || got[0].LocalBytes != 300000 || got[1].Device != 1 {
		t.Fatalf("read %+v, %v", got, err)
	}
	standin.Write(t, library, append(conf, "list_code 0 15")...)
	if _, err := r.Read([]int{42, 43}, nil); !errors.Is(err, nvml.ErrGPULost) {
		t.Fatalf("got %v", err)
	}
	for range 3 {
		got, err = r.Read([]int{42, 43}, nil)
		if err != nil || len(got) != 1 || got[0].PID != 43 {
			t.Fatalf("after the loss: %+v, %v", got, err)
		}
	}
	if s := m.read(Options{Sources: src}); len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "lost") {
		t.Errorf("warnings %q", s.Warnings)
	}
}

func TestWhatAProcessGaveBackIsReadAsZero(t *testing.T) {
	t.Parallel()
	m := newTree(t)
	conf := []string{"device A GPU-aa 00000000:65:00.0 1000000 900000 5000", "reload 1"}
	library := nvmltest.Build(t, nvmltest.Newest, append(conf, "process 0 c 42 300000")...)
	src := OpenSources(context.Background(),
		SourceOptions{Root: m.Path, NVML: nvml.Options{Library: library}})
	defer src.Close()
	r := src.Reader()
	defer r.Close()
	if got, err := r.Read([]int{42, 43}, nil); err != nil || len(got) != 1 {
		t.Fatalf("read %+v, %v", got, err)
	}
	standin.Write(t, library, conf...)
	if got, err := r.Read([]int{42, 43}, nil); err != nil || len(got) != 1 || got[0].PID != 42 ||
		got[0].LocalBytes != 0 {
		t.Errorf("read %+v, %v", got, err)
	}
}

func TestIntegratedDevicesHoldMemoryOfTheHost(t *testing.T) {
	t.Parallel()
	m := newTree(t)
	m.process(42, "browser", "S", 0, 100, "")
	m.File("sys/class/drm/card0/device/uevent", "DRIVER=i915\nPCI_SLOT_NAME=0000:00:02.0\n")
	m.File("sys/class/accel/accel0/device/uevent", "DRIVER=amdxdna\nPCI_SLOT_NAME=0000:c5:00.1\n")
	m.File("sys/class/drm/card1/device/uevent", "DRIVER=nvidia\nPCI_SLOT_NAME=0000:65:00.0\n")
	m.FD(42, 7, "/dev/dri/card0",
		"drm-driver:\ti915\ndrm-pdev:\t0000:00:02.0\ndrm-client-id:\t3\ndrm-resident-system0:\t64 KiB\n")
	m.FD(42, 8, "/dev/accel/accel0",
		"drm-driver:\tamdxdna\ndrm-pdev:\t0000:c5:00.1\ndrm-client-id:\t1\ndrm-total-memory:\t16 KiB\n")
	s := m.read(Options{Sources: m.sources()})
	if len(s.Devices) != 2 || s.Devices[0].Driver != "i915" || s.Devices[1].Name != "accel0" {
		t.Fatalf("devices %+v", s.Devices)
	}
	if s.Devices[0].HeldBytes != 64<<10 || s.Devices[0].UnchargedBytes != Unknown ||
		s.Devices[1].HeldBytes != 16<<10 {
		t.Errorf("devices %+v", s.Devices)
	}
	if p := find(t, s, 42); p.GPUBytes() != 80<<10 || len(p.GPU) != 2 {
		t.Errorf("charged %+v", p.GPU)
	}
}

func TestEachAbsentSourceHasItsReason(t *testing.T) {
	t.Parallel()
	src := newTree(t).sources()
	var names []string
	for _, a := range src.Absent() {
		names = append(names, a.Source)
		if a.Err == nil || strings.Contains(a.Err.Error(), "\n") {
			t.Errorf("%s: %v", a.Source, a.Err)
		}
	}
	if strings.Join(names, " ") != "nvml drm kfd" || src.Here() {
		t.Errorf("absent %q, here %v", names, src.Here())
	}
}

func TestRealChildrenAreFoundWithTheirMemoryAndTheirEnd(t *testing.T) {
	t.Parallel()
	sleep := exec.Command("sleep", "60")
	dead := exec.Command("true")
	for _, c := range []*exec.Cmd{sleep, dead} {
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
	}
	defer func() {
		sleep.Process.Kill()
		sleep.Wait()
		dead.Wait()
	}()
	var s *Scan
	deadline := time.Now().Add(20 * time.Second)
	for {
		var err error
		if s, err = Read(context.Background(), Options{}); err != nil {
			t.Fatal(err)
		}
		if find(t, s, dead.Process.Pid).State == Zombie {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("a child that has ended is no zombie")
		}
		time.Sleep(time.Millisecond)
	}
	p := find(t, s, sleep.Process.Pid)
	if filepath.Base(p.Command[0]) != "sleep" || p.Footprint() <= 0 || p.Parent != os.Getpid() ||
		p.UID != os.Geteuid() || p.Age < 0 {
		t.Errorf("got %+v", p)
	}
	self := find(t, s, os.Getpid())
	exe, err := os.Executable()
	if err != nil || self.Executable != exe || self.Version.ID == "" || self.Footprint() < 1<<20 {
		t.Errorf("ourselves: %+v (executable %s, %v)", self, exe, err)
	}
}
