package probe

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gpumem/gpumem/probe/procfs"
)

// onADisk is a folder whose files are not in memory alone.
func onADisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil || fs.Type != unix.TMPFS_MAGIC {
		return dir
	}
	dir, err := os.MkdirTemp(".", "disk")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// mapped maps a file of n bytes.
func mapped(t *testing.T, path string, n, protection, flags int) []byte {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(int64(n)); err != nil {
		t.Fatal(err)
	}
	b, err := unix.Mmap(int(f.Fd()), 0, n, protection, flags)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(b) }) //nolint:errcheck // of a test
	return b
}

func TestOnlyWhatIsChangedInASharedMappingOfAFileIsDirty(t *testing.T) {
	p, err := Open(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	dirty := func() (int64, bool) {
		t.Helper()
		files, err := p.Files(true, 0)
		if err != nil {
			t.Fatal(err)
		}
		return files.Dirty, files.Shared
	}
	if n, shared := dirty(); n != 0 || shared {
		t.Fatalf("%d bytes, shared %v, before anything is mapped", n, shared)
	}
	const size, both = 8 << 20, unix.PROT_READ | unix.PROT_WRITE
	dir := onADisk(t)
	write := func(b []byte) {
		for i := 0; i < len(b); i += 4096 {
			b[i]++
		}
	}
	write(mapped(t, filepath.Join(dir, "private"), size, both, unix.MAP_PRIVATE)) // anonymous memory
	write(mapped(t, "/dev/shm/gpumem-dirty-"+filepath.Base(dir), size, both, unix.MAP_SHARED))
	t.Cleanup(func() { os.Remove("/dev/shm/gpumem-dirty-" + filepath.Base(dir)) })
	if n, shared := dirty(); n != 0 || shared {
		t.Errorf("%d bytes, shared %v, of a private mapping and one of shared memory", n, shared)
	}
	written := mapped(t, filepath.Join(dir, "written"), size, both, unix.MAP_SHARED)
	sum := byte(0)
	for i := 0; i < size; i += 4096 {
		sum += written[i]
	}
	if n, shared := dirty(); n != 0 || !shared {
		t.Errorf("%d bytes, shared %v, of a mapping that was only read (%d)", n, shared, sum)
	}
	write(written[:size/2])
	if n, _ := dirty(); n < size/4 || n > size/2 {
		t.Errorf("%d bytes of %d that were changed", n, size/2)
	}
	if files, err := p.Files(false, 0); files.Dirty != Unknown || !files.Shared || err != nil {
		t.Errorf("without a walk %+v, %v", files, err)
	}
}

func TestOfMappedFilesOnlyThoseWithCodeMayBeCode(t *testing.T) {
	p, err := Open(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	code := func() int64 {
		t.Helper()
		files, err := p.Files(true, 0)
		if err != nil {
			t.Fatal(err)
		}
		return files.Code
	}
	before := code()
	if info, err := os.Stat("/proc/self/exe"); err != nil || before < info.Size()/4 ||
		before > 64*info.Size() {
		t.Fatalf("%d bytes of a program of %d, %v", before, info.Size(), err)
	}
	const size = 8 << 20
	dir := onADisk(t)
	mapped(t, filepath.Join(dir, "data"), size, unix.PROT_READ, unix.MAP_SHARED)
	if n := code(); n != before {
		t.Errorf("%d bytes more with a file without code", n-before)
	}
	mapped(t, filepath.Join(dir, "code"), size, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
	if n := code(); n != before+size {
		t.Errorf("%d bytes more with a file that has %d of code", n-before, size)
	}
}

func TestSharedMemoryAndFilesThatMayBeWrittenAreReserved(t *testing.T) {
	p, err := Open(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	writable := func() int64 {
		t.Helper()
		files, err := p.Files(false, 0)
		if err != nil || files.Ahead {
			t.Fatalf("%+v, %v", files, err)
		}
		return files.Writable
	}
	const size, both = 8 << 20, unix.PROT_READ | unix.PROT_WRITE
	dir, before := onADisk(t), writable()
	mapped(t, filepath.Join(dir, "private"), size, both, unix.MAP_PRIVATE)
	mapped(t, filepath.Join(dir, "read"), size, unix.PROT_READ, unix.MAP_SHARED)
	if n := writable(); n != before {
		t.Errorf("%d bytes more with a private mapping and one that is only read", n-before)
	}
	mapped(t, filepath.Join(dir, "written"), size, both, unix.MAP_SHARED)
	anonymous, err := unix.Mmap(-1, 0, size, both, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(anonymous) //nolint:errcheck // of a test
	if n := writable(); n != before+2*size {
		t.Errorf("%d bytes more with a file and shared memory of %d each", n-before, size)
	}
}

func TestAllocatorsThatReserveAheadAreKnown(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"/usr/lib/jvm/java-17/lib/server/libjvm.so": true, "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2": true,
		"/opt/lib/libtcmalloc_minimal.so.4": true, "/usr/lib/libmimalloc.so.2.1": true,
		"/usr/lib/x86_64-linux-gnu/libc.so.6": false, "/srv/libjvm.d/app": false, "": false,
	} {
		if got := reservesAhead(path); got != want {
			t.Errorf("%q: %v", path, got)
		}
	}
}

func TestTheArenaOfAnAllocatorIsKnownByItsPlaceAndSize(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for name, c := range map[string]struct {
		m    procfs.Mapping
		want bool
	}{
		"mimalloc's":             {procfs.Mapping{Start: 64 * mib, End: 1088 * mib}, true},
		"an array of the heap's": {procfs.Mapping{Start: 64*mib - 4096, End: 1088 * mib}, false},
		"two of mimalloc's":      {procfs.Mapping{Start: 64 * mib, End: 2112 * mib}, true},
		"an array of 800 MiB":    {procfs.Mapping{Start: 64 * mib, End: 864 * mib}, false},
		"elsewhere":              {procfs.Mapping{Start: 66 * mib, End: 1090 * mib}, false},
		"one segment":            {procfs.Mapping{Start: 64 * mib, End: 96 * mib}, false},
		"a file":                 {procfs.Mapping{Start: 64 * mib, End: 1088 * mib, Path: "/data"}, false},
	} {
		copy(c.m.Perms[:], "rw-p")
		if got := isArena(&c.m); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
