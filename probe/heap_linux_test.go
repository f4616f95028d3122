package probe_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/probe/probetest"
)

// javaAt is a process 7 with the recorded counters of a Java virtual machine in its own root,
// and a heap of so many bytes, of which 40 MiB are in memory and 4 KiB in swap.
func javaAt(t *testing.T, heap uint64) (probetest.Root, probe.Machine) {
	t.Helper()
	root := probetest.NewRoot(t)
	const dir = "proc/7/root/tmp/hsperfdata_me"
	root.Folder(dir)
	counters, err := os.ReadFile("hotspot/testdata/g1")
	if err != nil {
		t.Fatal(err)
	}
	root.File(dir+"/7", string(counters))
	info, err := os.Stat(filepath.Join(root.Path, dir, "7"))
	if err != nil {
		t.Fatal(err)
	}
	inode := info.Sys().(*syscall.Stat_t).Ino
	const start, taken = uint64(0xf0000000), uint64(0x4000000)
	end := start + heap
	heads := []string{
		fmt.Sprintf("%x-%x rw-p 00000000 00:00 0 ", start, start+taken),
		fmt.Sprintf("%x-%x ---p 00000000 00:00 0 ", start+taken, end-0x100000),
		fmt.Sprintf("%x-%x rw-p 00c77000 fe:00 9    /usr/lib/server/classes.jsa", end-0x100000, end-0x80000),
		fmt.Sprintf("%x-%x rw-p 00000000 00:00 0 ", end-0x80000, end),
		"7f0000000000-7f0010000000 r--p 00000000 fe:00 8    /usr/lib/modules",
		fmt.Sprintf("7f0020000000-7f0020008000 rw-s 00000000 fe:00 %d    /tmp/hsperfdata_me/7", inode),
	}
	const figures = "Rss: 50000 kB\nAnonymous: %d kB\nSwap: %d kB\n"
	var smaps strings.Builder
	for i, h := range heads {
		fmt.Fprintf(&smaps, h+"\n"+figures, [...]int{40 << 10, 0, 0, 0, 77, 0}[i], [...]int{4, 0, 0, 0, 5, 0}[i])
	}
	root.File("proc/7/maps", strings.Join(heads, "\n")+"\n")
	root.File("proc/7/smaps", smaps.String())
	root.File("proc/7/stat", "7 (java) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 55 0 0 0\n")
	root.File("proc/7/statm", "100000 10000 400 1 0 5 0\n")
	root.File("proc/7/status", "Name:\tjava\nVmRSS:\t40 kB\n")
	return root, probe.Machine{Proc: filepath.Join(root.Path, "proc")}
}

// heapRead is what is read of the heap of process 7, as the sampler reads it.
func heapRead(t *testing.T, m probe.Machine, walk bool) (int64, probe.Heap) {
	t.Helper()
	p, err := m.Open(7)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if h := p.ReadHeap(); h != probe.UnknownHeap() {
		t.Errorf("before anybody looked: %+v", h)
	}
	files, err := p.Files(walk, 0)
	if err != nil || !files.Heaped {
		t.Fatalf("%+v, %v", files, err)
	}
	return files.Heap, p.ReadHeap()
}

func TestTheHeapOfAJavaMachineIsFoundByItsSize(t *testing.T) {
	t.Parallel()
	_, m := javaAt(t, 256<<20)
	resident, h := heapRead(t, m, true)
	if resident != 40<<20+4<<10 || h.Kept != 55803392+4194304 || h.Collections == probe.Unknown || h.Full != 0 {
		t.Errorf("%d in memory, %+v", resident, h)
	}
	if resident, _ := heapRead(t, m, false); resident != probe.Unknown {
		t.Errorf("without a walk %d are in memory", resident)
	}
}

// keeper keeps 30 MiB in its heap, collects it, says so, and ends with its input.
const keeper = `
public class Keeper {
	static byte[][] kept = new byte[30][];
	public static void main(String[] a) throws Exception {
		for (int i = 0; i < kept.length; i++) kept[i] = new byte[1 << 20];
		System.gc();
		System.out.println("ready");
		System.in.read();
	}
}
`

func TestTheHeapOfARealJavaMachineIsRead(t *testing.T) {
	t.Parallel()
	java, err := exec.LookPath("java")
	if err != nil || testing.Short() {
		t.Skip("a Java virtual machine is not here, or takes too long to start for the quick lane")
	}
	source := filepath.Join(t.TempDir(), "Keeper.java")
	if err := os.WriteFile(source, []byte(keeper), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, collector := range [...]string{"-XX:+UseG1GC", "-XX:+UseParallelGC", "-XX:+UseSerialGC"} {
		cmd := exec.Command(java, "-Xmx256m", collector, source)
		in, _ := cmd.StdinPipe()
		out, _ := cmd.StdoutPipe()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		said, _ := bufio.NewReader(out).ReadString('\n')
		if said != "ready\n" { // a runtime without a compiler runs no source
			in.Close()
			cmd.Wait() //nolint:errcheck // it said why
			t.Skip("this Java does not run a source, or has not this collector")
		}
		p, err := probe.Open(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		files, err := p.Files(true, 0)
		h := p.ReadHeap()
		if err != nil || files.Heap < 30<<20 || files.Heap > 256<<20 || h.Kept < 30<<20 || h.Full < 1 ||
			h.Collections < h.Full {
			t.Errorf("%s: %+v, %+v, %v", collector, files, h, err)
		}
		p.Close()
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", collector, err)
		}
	}
}

func TestAHeapOfAnotherSizeIsNotFound(t *testing.T) {
	t.Parallel()
	_, m := javaAt(t, 255<<20)
	if resident, h := heapRead(t, m, true); resident != probe.Unknown || h.Kept == probe.Unknown {
		t.Errorf("%d in memory, %+v", resident, h)
	}
}

func TestOnlyTheFileThatTheProcessHasMappedIsReadForItsCounters(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(string) error{
		"another file": func(path string) error {
			if err := os.Rename(path, path+".old"); err != nil {
				return err
			}
			return os.WriteFile(path, make([]byte, 4096), 0o600)
		},
		"a link": func(path string) error {
			if err := os.Rename(path, path+".old"); err != nil {
				return err
			}
			return os.Symlink(path+".old", path)
		},
		"a pipe nobody writes to": func(path string) error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return syscall.Mkfifo(path, 0o600)
		},
		"no counters": func(path string) error {
			return os.WriteFile(path, binary.BigEndian.AppendUint64(nil, 1), 0o600)
		},
	} {
		root, m := javaAt(t, 256<<20)
		if err := change(filepath.Join(root.Path, "proc/7/root/tmp/hsperfdata_me/7")); err != nil {
			t.Fatal(err)
		}
		if resident, h := heapRead(t, m, true); resident != probe.Unknown || h != probe.UnknownHeap() {
			t.Errorf("%s: %d in memory, %+v", name, resident, h)
		}
	}
}
