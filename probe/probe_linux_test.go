package probe

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpumem/gpumem/probe/probetest"
)

// fakeMachine writes files below folders that stand for /proc and
// /sys/fs/cgroup.
func fakeMachine(t testing.TB, files map[string]string) Machine {
	root := probetest.NewRoot(t)
	for name, content := range files {
		root.File(name, content)
	}
	return Machine{Proc: filepath.Join(root.Path, "proc"), Cgroup: filepath.Join(root.Path, "cgroup")}
}

func statOf(pid, parent int, name string) string {
	return fmt.Sprintf("%d (%s) S %d 1 1 0 -1 4194304 1 0 0 0 1 2 0 0 20 0 1 0 4711 1000 10 0\n", pid,
		name, parent)
}

func TestReadSplitReadsAllKindsOfMemory(t *testing.T) {
	t.Parallel()
	head := "Name:\tx\nUmask:\t0022\nState:\tS (sleeping)\nGroups:\t" + strings.Repeat("100000 ", 2000) + "\n"
	for name, c := range map[string]struct {
		status string
		want   Memory
		err    error
	}{
		"all": {head +
			"VmHWM:\t  99 kB\nVmRSS:\t      60 kB\nRssAnon:\t 10 kB\nRssFile:\t 20 kB\nRssShmem:\t 30 " +
			"kB\nVmData:\t 40 kB\nVmSwap:\t 5 kB\nThreads:\t1\n", Memory{60 << 10, 10 << 10, 20 << 10,
			30 << 10, 5 << 10, 45 << 10, -1, -1, -1, 1, 40 << 10, UnknownHeap()}, nil},
		"no split": {head + "VmRSS:\t 60 kB\nVmSwap:\t 0 kB\n",
			Memory{60 << 10, -1, -1, -1, 0, 60 << 10, -1, -1, -1, -1, -1, UnknownHeap()}, nil},
		"no swap": {head + "VmRSS:\t 60 kB\nRssAnon:\t 0 kB\n",
			Memory{60 << 10, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1, UnknownHeap()}, nil},
		"zombie":    {head + "Threads:\t1\n", UnknownMemory(), ErrExited},
		"empty":     {"", UnknownMemory(), ErrExited},
		"malformed": {"VmRSS\nVmRSS:\nVmRSS: x kB\nRssAnon:::", UnknownMemory(), ErrExited},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := fakeMachine(t, map[string]string{"proc/7/statm": "1 2 3", "proc/7/status": c.status,
				"proc/7/stat": statOf(7, 1, "x")})
			p, err := m.Open(7)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			var got Memory
			if err := p.ReadSplit(&got); !errors.Is(err, c.err) || got != c.want {
				t.Errorf("got %+v, %v, want %+v", got, err, c.want)
			}
		})
	}
}

func TestReadTakesRSSAndAnonFromStatm(t *testing.T) {
	t.Parallel()
	page := int64(os.Getpagesize())
	for statm, want := range map[string]struct {
		m   Memory
		err error
	}{
		"100 50 20 1 0 30 0\n": {Memory{50 * page, 30 * page, -1, -1, -1, -1, -1, -1, -1, -1, -1, UnknownHeap()}, nil},
		// The counts are rough.
		"100 20 50 1 0 30 0\n": {Memory{20 * page, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1, UnknownHeap()}, nil},
		"0 0 0 0 0 0 0\n":      {UnknownMemory(), ErrExited},
		"":                     {UnknownMemory(), ErrExited},
	} {
		m := fakeMachine(t, map[string]string{"proc/7/statm": statm, "proc/7/status": "",
			"proc/7/stat": statOf(7, 1, "x")})
		p, err := m.Open(7)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		var got Memory
		if err := p.Read(&got); !errors.Is(err, want.err) || got != want.m {
			t.Errorf("%q: got %+v, %v", statm, got, err)
		}
	}
	m := fakeMachine(t, map[string]string{"proc/7/statm": "what", "proc/7/status": "",
		"proc/7/stat": statOf(7, 1, "x")})
	p, err := m.Open(7)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Read(new(Memory)); err == nil || errors.Is(err, ErrExited) {
		t.Errorf("malformed: %v", err)
	}
}

func TestTheNameOfAProcessMayHoldAnything(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"sh", "a) S 1 (b", "((", "x y\tz", ""} {
		m := fakeMachine(t, map[string]string{"proc/7/statm": "1 1 0", "proc/7/status": "",
			"proc/7/stat": statOf(7, 3, name)})
		p, err := m.Open(7)
		if err != nil {
			t.Fatal(err)
		}
		if p.Name() != name || p.Identity() != (Identity{PID: 7, Start: 4711}) {
			t.Errorf("%q: %q %+v", name, p.Name(), p.Identity())
		}
		p.Close()
	}
	for _, stat := range []string{"", "7 x S 1", "7 (x) S", "7 (x) S a" + strings.Repeat(" 1", 30),
		"7 (x) S 1" + strings.Repeat(" z", 30)} {
		if _, _, err := nameAndStart([]byte(stat)); err == nil {
			t.Errorf("%q passed", stat)
		}
	}
}

func TestAnOpenProcessIsNeverMistakenForALaterOne(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("cat")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p, err := Open(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var m, split Memory
	if err := errors.Join(p.Read(&m), p.ReadSplit(&split)); err != nil {
		t.Fatal(err)
	}
	if m.RSS <= 0 || split.RSS <= 0 || split.Footprint != split.Anon+split.Shmem+split.Swap ||
		split.Anon+split.File+split.Shmem != split.RSS || p.Name() != "cat" {
		t.Errorf("%+v, %+v", m, split)
	}
	stdin.Close()
	for p.Read(&m) == nil { // ended, and a zombie until Wait
		time.Sleep(time.Millisecond)
	}
	if err := errors.Join(p.Read(&m), nil); !errors.Is(err, ErrExited) || m != UnknownMemory() {
		t.Errorf("zombie: %+v, %v", m, err)
	}
	if err := p.ReadSplit(&m); !errors.Is(err, ErrExited) || m != UnknownMemory() {
		t.Errorf("zombie: %+v, %v", m, err)
	}
	cmd.Wait()
	if err := p.Read(&m); !errors.Is(err, ErrExited) {
		t.Errorf("gone: %v", err)
	}
	if err := p.ReadSplit(&m); !errors.Is(err, ErrExited) {
		t.Errorf("gone: %v", err)
	}
	for _, pid := range []int{cmd.Process.Pid, 0, -1, 1 << 40} {
		if _, err := Open(pid); !errors.Is(err, ErrExited) {
			t.Errorf("open %d: %v", pid, err)
		}
	}
}

func TestReadSeesMemoryThatIsTouched(t *testing.T) {
	p, err := Open(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var before, after Memory
	if err := p.ReadSplit(&before); err != nil {
		t.Fatal(err)
	}
	const size = 64 << 20
	mem, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < size; i += 4096 {
		mem[i] = 1
	}
	if err := p.ReadSplit(&after); err != nil {
		t.Fatal(err)
	}
	syscall.Munmap(mem)
	for kind, grown := range map[string]int64{"rss": after.RSS - before.RSS, "anon": after.Anon - before.Anon,
		"footprint": after.Footprint - before.Footprint} {
		if grown < size-4<<20 || grown > size+16<<20 {
			t.Errorf("%s grew by %d, touched %d", kind, grown, size)
		}
	}
}

func TestSamplesAllocateNothing(t *testing.T) {
	p, err := Open(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var m Memory
	if n := testing.AllocsPerRun(100, func() { p.Read(&m); p.ReadSplit(&m) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

func TestTreeFollowsDescendantsAlsoOnceTheirParentsAreGone(t *testing.T) {
	t.Parallel()
	m := fakeMachine(t, map[string]string{
		"proc/5/stat": statOf(5, 1, "root"), "proc/9/stat": statOf(9, 20, "grandchild"),
		"proc/20/stat": statOf(20, 5, "child"),
		"proc/6/stat":  statOf(6, 1, "other"), "proc/7/stat": statOf(7, 6, "other's"), "proc/meminfo": "",
		"proc/8/x": "",
	})
	tree := m.NewTree(5)
	scan := func(want ...int) {
		pids, err := tree.Scan()
		if err != nil || !slices.Equal(pids, want) {
			t.Errorf("got %v, %v, want %v", pids, err, want)
		}
	}
	write := func(pid, parent int) {
		dir := filepath.Join(m.Proc, fmt.Sprint(pid))
		os.MkdirAll(dir, 0o755)
		os.WriteFile(filepath.Join(dir, "stat"), []byte(statOf(pid, parent, "x")), 0o644)
	}
	scan(9, 20)
	write(30, 9)
	scan(9, 20, 30)
	os.RemoveAll(filepath.Join(m.Proc, "20"))
	os.RemoveAll(filepath.Join(m.Proc, "9"))
	write(30, 1) // adopted by init
	write(31, 30)
	scan(30, 31)
	write(9, 6) // the pid of another process now
	scan(30, 31)
	tree.Add(7)
	scan(7, 30, 31)
	if _, err := (Machine{Proc: "/nonexistent"}).NewTree(1).Scan(); err == nil {
		t.Error("a machine without processes was scanned")
	}
}

func TestTreeTakesInStraysThatDidNotBeginBeforeItsRoot(t *testing.T) {
	t.Parallel()
	m := fakeMachine(t, map[string]string{"proc/5/stat": statOf(5, 1, "root"),
		"proc/6/stat":  strings.Replace(statOf(6, 1, "older daemon"), " 4711 ", " 4710 ", 1),
		"proc/8/stat":  statOf(8, 1, "left before the first scan"),
		"proc/9/stat":  statOf(9, 1, "a stranger"),
		"proc/meminfo": ""})
	tree, asked := m.NewTree(5), []int{}
	tree.Stray = func(pid int) bool {
		asked = append(asked, pid)
		return pid%2 == 0
	}
	scan := func(want ...int) {
		t.Helper()
		if pids, err := tree.Scan(); err != nil || !slices.Equal(pids, want) {
			t.Errorf("got %v, %v, want %v", pids, err, want)
		}
	}
	write := func(pid, parent int) {
		dir := filepath.Join(m.Proc, fmt.Sprint(pid))
		os.MkdirAll(dir, 0o755)
		os.WriteFile(filepath.Join(dir, "stat"), []byte(statOf(pid, parent, "x")), 0o644)
	}
	scan(8)
	write(30, 1) // its parent was gone before it was seen
	write(31, 30)
	write(33, 1)
	write(40, 5)
	scan(8, 30, 31, 40)
	scan(8, 30, 31, 40)
	slices.Sort(asked)
	if asked = slices.Compact(asked); slices.Contains(asked, 6) || slices.Contains(asked, 40) ||
		!slices.Contains(asked, 33) {
		t.Errorf("asked of %v", asked)
	}
}

func TestAPIDThatWentToAStrangerBetweenTwoScansIsNotFollowed(t *testing.T) {
	t.Parallel()
	m := fakeMachine(t, map[string]string{"proc/5/stat": statOf(5, 1, "root"), "proc/6/stat": statOf(6, 1, "other"),
		"proc/20/stat": statOf(20, 5, "child"), "proc/21/stat": statOf(21, 6, "stranger"), "proc/meminfo": ""})
	tree := m.NewTree(5)
	if pids, err := tree.Scan(); err != nil || !slices.Equal(pids, []int{20}) {
		t.Fatalf("got %v, %v", pids, err)
	}
	write := func(pid, parent int, start string) {
		stat := strings.Replace(statOf(pid, parent, "x"), " 4711 ", " "+start+" ", 1)
		os.WriteFile(filepath.Join(m.Proc, fmt.Sprint(pid), "stat"), []byte(stat), 0o644)
	}
	write(20, 1, "4711") // the same process, whose parent is gone
	tree.Forget(Identity{PID: 20, Start: 4711})
	if pids, err := tree.Scan(); err != nil || !slices.Equal(pids, []int{20}) {
		t.Fatalf("got %v, %v: a process that only seemed to have gone is not followed any more", pids, err)
	}
	write(20, 6, "4800")
	write(21, 5, "4800")
	tree.Forget(Identity{PID: 20, Start: 4711})
	tree.Forget(Identity{PID: 21, Start: 4711})
	if pids, err := tree.Scan(); err != nil || !slices.Equal(pids, []int{21}) {
		t.Errorf("got %v, %v, want the new child alone", pids, err)
	}
}

func TestTreeFindsRealChildren(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sh", "-c", "cat & cat; wait")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer stdin.Close()
	tree := NewTree(cmd.Process.Pid)
	for range 5000 {
		pids, err := tree.Scan()
		if err != nil {
			t.Fatal(err)
		}
		if len(pids) > 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Error("no child was found")
}

func TestTotalsTakeTheSmallestLimitAround(t *testing.T) {
	t.Parallel()
	meminfo := "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 900 kB\nSwapTotal: 50 kB\nSwapFree: 40 kB\n"
	base := Totals{1000 << 10, 900 << 10, 50 << 10, 40 << 10, Unknown, Unknown}
	for name, c := range map[string]struct {
		files        map[string]string
		limit, usage int64
	}{
		"none": {nil, Unknown, Unknown},
		"version 2": {map[string]string{"proc/7/cgroup": "0::/a/b\n",
			"cgroup/a/b/memory.max": "max\n", "cgroup/a/memory.max": "500\n",
			"cgroup/a/memory.current": "100\n"}, 500, 100},
		"version 2, inner": {map[string]string{"proc/7/cgroup": "0::/a/b\n",
			"cgroup/a/b/memory.max": "300\n", "cgroup/a/b/memory.current": "20\n",
			"cgroup/a/memory.max": "500\n"}, 300, 20},
		"version 1": {map[string]string{"proc/7/cgroup": "5:cpu,memory:/x\n0::/\n",
			"cgroup/memory/x/memory.limit_in_bytes": "700\n",
			"cgroup/memory/x/memory.usage_in_bytes": "70\n"}, 700, 70},
		"version 1, unlimited": {map[string]string{"proc/7/cgroup": "5:memory:/x\n",
			"cgroup/memory/x/memory.limit_in_bytes": "9223372036854771712\n"}, Unknown, Unknown},
		"in a container": {map[string]string{"proc/7/cgroup": "5:memory:/docker/1234\n",
			"cgroup/memory/memory.limit_in_bytes": "800\n",
			"cgroup/memory/memory.usage_in_bytes": "80\n"}, 800, 80},
		"escaping path": {map[string]string{"proc/7/cgroup": "0::/../../..\nbroken\n5:memory\n",
			"cgroup/memory.max": "x\n"}, Unknown, Unknown},
		"both mounted": {map[string]string{"proc/7/cgroup": "0::/u\n",
			"cgroup/unified/u/memory.max": "900\n"}, 900, Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"proc/meminfo": meminfo}
			for k, v := range c.files {
				files[k] = v
			}
			want := base
			want.CgroupLimit, want.CgroupUsage = c.limit, c.usage
			if got, err := fakeMachine(t, files).ReadTotals(7); err != nil || got != want {
				t.Errorf("got %+v, %v, want %+v", got, err, want)
			}
		})
	}
	if got, err := ReadTotals(0); err != nil || got.Memory <= 0 || got.Available <= 0 || got.SwapTotal < 0 {
		t.Errorf("this machine: %+v, %v", got, err)
	}
	if _, err := fakeMachine(t, nil).ReadTotals(0); err == nil {
		t.Error("a machine that tells nothing was read")
	}
}

func TestSelfCountsOwnUse(t *testing.T) {
	u, err := Self()
	if err != nil || u.CPU <= 0 || u.RSS <= 0 {
		t.Errorf("%+v, %v", u, err)
	}
}

func BenchmarkRead(b *testing.B)      { benchmarkRead(b, (*Process).Read) }
func BenchmarkReadSplit(b *testing.B) { benchmarkRead(b, (*Process).ReadSplit) }

// benchmarkRead samples another process.
func benchmarkRead(b *testing.B, read func(*Process, *Memory) error) {
	cmd := exec.Command("cat")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer cmd.Wait()
	defer stdin.Close()
	p, err := Open(cmd.Process.Pid)
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	var m Memory
	b.ReportAllocs()
	for b.Loop() {
		if err := read(p, &m); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkScan looks for new descendants among the processes of this machine.
func BenchmarkScan(b *testing.B) {
	tree := NewTree(os.Getpid())
	for b.Loop() {
		if _, err := tree.Scan(); err != nil {
			b.Fatal(err)
		}
	}
}
