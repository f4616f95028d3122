package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// counted is a program that says on SIGUSR1 how much Python and the C library have in use
// for it. Its resident memory tells little: what is freed stays resident by the MiB.
const counted = `
import ctypes, gc, json, re, resource, signal, sys, time
libc = ctypes.CDLL(None)
libc.open_memstream.restype = ctypes.c_void_p
def heap():
    "bytes in use of all arenas of malloc: what they have of the system, less what is free"
    text, size = ctypes.c_void_p(), ctypes.c_size_t()
    f = ctypes.c_void_p(libc.open_memstream(ctypes.byref(text), ctypes.byref(size)))
    libc.malloc_info(0, f)
    libc.fclose(f)
    xml = ctypes.string_at(text, size.value).decode().rsplit("</heap>", 1)[1]
    libc.free(text)
    total = lambda of: sum(int(n) for n in re.findall(of + r'[^/]* size="(\d+)"', xml))
    return total('"current"') + total('"mmap"') - total('"fast"') - total('"rest"')
def tell(*_):
    del keep[:]
    gc.collect()
    pages = int(open("/proc/self/statm").read().split()[1])
    print(json.dumps({"blocks": sys.getallocatedblocks(), "objects": len(gc.get_objects()), "heap": heap(),
                      "resident": pages * resource.getpagesize()}), flush=True)
keep = []
heap() # what ctypes and re keep of a first call
signal.signal(signal.SIGUSR1, tell)
print("ready", flush=True)
while True:
    keep.extend(bytearray(1000) for _ in range(100))
    if len(keep) > 5000: del keep[:]
    time.sleep(.01)
`

// inUse is what the program counted has of Python's blocks, of its collector's objects, of
// malloc's bytes and of resident ones.
type inUse struct{ Blocks, Objects, Heap, Resident int }

func countOf(t *testing.T, g *guest) (u inUse) {
	t.Helper()
	if err := g.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(g.line(t)), &u); err != nil {
		t.Fatal(err)
	}
	return u
}

// attaches is how often TestManyAttachesLeaveTheProgramsMemoryFlat attaches; a
// variable of the environment has it do more.
func attaches() int {
	if n, err := strconv.Atoi(os.Getenv("GPUMEM_TEST_ATTACHES")); err == nil {
		return n
	}
	return 24
}

func TestManyAttachesLeaveTheProgramsMemoryFlat(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	path := filepath.Join(t.TempDir(), "counted.py")
	if err := os.WriteFile(path, []byte(counted), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("python3", path)
	cmd.Stderr = os.Stderr
	g := guestOf(t, cmd)
	var first inUse
	count := attaches()
	for i := range count {
		dir := t.TempDir()
		cmd, text := joined(t, g, dir)
		cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			_ = text // too short a recording is no verdict
		}
		os.RemoveAll(filepath.Join(dir, "run"))
		// By then Python has what it keeps of the first of them.
		if i < (count+1)/2 {
			now := countOf(t, g)
			first = inUse{max(first.Blocks, now.Blocks), max(first.Objects, now.Objects), max(first.Heap, now.Heap),
				max(first.Resident, now.Resident)}
		}
	}
	last := countOf(t, g)
	t.Logf("%d attaches: at most %+v in the first half, %+v at the end", count, first, last)
	// An agent at work is 4,400 blocks, 700 objects and 650 KiB: each attach that left one would add
	// as much. In 24 to 120 attaches the figures went back and forth by 770 blocks, 470 objects and
	// 120 KiB, and what is resident by 7 MiB.
	if last.Blocks > first.Blocks+2200 || last.Objects > first.Objects+1000 || last.Heap > first.Heap+1<<20 ||
		last.Resident > first.Resident+16<<20 {
		t.Errorf("the program has %+v after %d attaches, and had at most %+v in the first half of them",
			last, count, first)
	}
}
