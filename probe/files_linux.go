package probe

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gpumem/gpumem/probe/procfs"
)

// Files reads what the process has mapped of files. What it changed is 0, and costs one
// reading of the list of mappings, for a process that maps no file so that its changes go
// there. Else the kernel walks the page tables, at some 20 ns a page, with a lock held that
// a call of mmap waits for: the caller bounds how often, and without walk the answer is
// Unknown. Files of tmpfs are shared memory, and none of these. Of a Java virtual machine the
// same walk tells what of its heap is in memory, and of a program with a device what the driver
// keeps for it: where that has as much address space as counted, nothing changed. The error is
// ErrExited for a process that is no more, and os.ErrPermission for one that may not be looked into.
func (p *Process) Files(walk bool, counted int64) (MappedFiles, error) {
	var mounts map[procfs.Device]string // read when one is found
	counts := func(m *procfs.Mapping) bool {
		if !changesAFile(m) {
			return false
		}
		if mounts == nil {
			mounts = procfs.ParseMounts(p.head("mountinfo"))
		}
		return !inMemory(mounts[m.Device])
	}
	found := MappedFiles{Heap: Unknown, DriversPages: Unknown}
	var code codeFile
	var places heapOf
	err := p.mappings("maps", func(s *procfs.Scanner) {
		m := s.Mapping()
		found.Shared = found.Shared || counts(m)
		found.Code += code.take(m)
		found.Ahead = found.Ahead || reservesAhead(m.Path) || isArena(m)
		if isShared(m) {
			found.Writable += int64(m.End - m.Start)
		}
		if isDrivers(m) {
			found.Drivers += int64(m.End - m.Start)
		}
		places.take(m)
	})
	if err != nil {
		return found, err
	}
	found.Heaped = places.counters.Path != ""
	if !found.Shared && !found.Heaped && found.Drivers == counted {
		return found, nil
	}
	if !walk {
		if found.Shared {
			found.Dirty = Unknown
		}
		return found, nil
	}
	heap, pages := p.heapSpan(&places), int64(0)
	err = p.mappings("smaps", func(s *procfs.Scanner) {
		u, m := s.Usage(), s.Mapping()
		if counts(m) {
			found.Dirty += max(u.PrivateDirty, 0) + max(u.SharedDirty, 0)
		}
		if isDrivers(m) {
			pages += max(u.RSS, 0)
		}
		heap.add(m, u)
	})
	found.DriversPages = pages
	found.Heap = heap.told()
	return found, err
}

// codeFile is the file whose mappings are being read. Loaders put those of one beside each
// other.
type codeFile struct {
	device procfs.Device
	inode  uint64
	size   int64 // of its mappings so far
	code   bool  // one of them has code
}

// take adds a mapping, and returns by how much the address space of files with code is
// the larger for it.
func (c *codeFile) take(m *procfs.Mapping) int64 {
	if m.Inode == 0 {
		return 0 // between the parts of a library lies what it has without its file
	}
	if m.Inode != c.inode || m.Device != c.device {
		*c = codeFile{device: m.Device, inode: m.Inode}
	}
	size := int64(m.End - m.Start)
	switch {
	case c.code:
		return size
	case m.Executable():
		c.code = true
		return c.size + size
	}
	c.size += size
	return 0
}

// changesAFile reports whether what is written to a mapping goes to a file that a path
// leads to.
func changesAFile(m *procfs.Mapping) bool {
	if m.Perms[1] != 'w' || m.Perms[3] != 's' || m.Inode == 0 || !strings.HasPrefix(m.Path, "/") {
		return false
	}
	for _, other := range [...]string{"/dev/", "/memfd:", "/SYSV", "/dmabuf:", "/drm mm object", "/i915",
		"/anon_hugepage"} {
		if strings.HasPrefix(m.Path, other) {
			return false
		}
	}
	return true
}

// isShared reports whether what is written to a mapping is memory of the machine that other
// processes may have, too. A device's memory is none of it.
func isShared(m *procfs.Mapping) bool {
	return changesAFile(m) || m.Perms[1] == 'w' && m.Perms[3] == 's' && slices.ContainsFunc(sharedMemory[:],
		func(name string) bool { return strings.HasPrefix(m.Path, name) })
}

// isDrivers reports whether a mapping is of a device's file, through which a driver gives a process
// memory, its device's or the machine's. The kernel counts pages of the second kind alone.
func isDrivers(m *procfs.Mapping) bool {
	return strings.HasPrefix(m.Path, "/dev/") && !slices.ContainsFunc(noDevices[:],
		func(name string) bool { return strings.HasPrefix(m.Path, name) })
}

// noDevices is how the paths of memory begin that lies in /dev and is no device's.
var noDevices = [...]string{"/dev/shm/", "/dev/zero", "/dev/hugepages", "/dev/mqueue", "/dev/null"}

// sharedMemory is how the paths of shared memory begin.
var sharedMemory = [...]string{"/dev/shm/", "/dev/zero", "/memfd:", "/SYSV"}

// reservesAhead reports whether a file is an allocator, or a language with a heap of its
// own, that reserves far more than the program asks for. The C library's malloc reserves
// 132 KiB more at a time, and Go's heap 4 MiB.
func reservesAhead(path string) bool {
	name := path[strings.LastIndexByte(path, '/')+1:]
	return slices.ContainsFunc(aheadOf[:], func(begin string) bool { return strings.HasPrefix(name, begin) })
}

// aheadOf is how the names of such files begin.
var aheadOf = [...]string{"libjvm.", "libj9vm", "libcoreclr.", "libjulia", "libjemalloc", "libmimalloc",
	"libtcmalloc", "sbcl"}

// isArena reports whether a mapping is private memory that an allocator reserved for itself:
// mimalloc, which programs also have within their own file, reserves 1 GiB, or that times a
// power of two (arena_reserve in its options.c, mi_arena_reserve in its arena.c), at a multiple
// of its segments of 32 MiB; the kernel makes one mapping of those that touch. An array that
// is mapped with such a size lies there once in 16 times, as the kernel prefers huge pages.
func isArena(m *procfs.Mapping) bool {
	const segment, arena = 32 << 20, 1 << 30
	size := m.End - m.Start
	return m.Path == "" && m.Perms[1] == 'w' && m.Perms[3] == 'p' && size > 0 &&
		m.Start%segment == 0 && size%arena == 0
}

// inMemory reports whether files of a type of file system are nowhere but in memory.
func inMemory(kind string) bool {
	return kind == "tmpfs" || kind == "devtmpfs" || kind == "hugetlbfs" || kind == "ramfs"
}

// mappings calls look for each entry of a file of the process. That the files kept open
// still answer says that it is the same process.
func (p *Process) mappings(name string, look func(*procfs.Scanner)) error {
	f, err := os.Open(p.path(name))
	if err == nil {
		defer f.Close()
		s := procfs.NewScanner(f)
		for s.Scan() {
			look(s)
		}
		err = s.Err()
	}
	if err == nil {
		if n, readErr := p.statm.ReadAt(p.buf, 0); n == 0 {
			err = errors.Join(ErrExited, readErr)
		}
	}
	if err != nil {
		return fmt.Errorf("read %s of process %d: %w", name, p.id.PID, gone(err))
	}
	return nil
}

// head is the beginning of a file of the process, nil where it cannot be read.
func (p *Process) head(name string) []byte {
	b, err := procfs.ReadHead(p.path(name), make([]byte, maxMounts))
	if err != nil {
		return nil
	}
	return b
}

// maxMounts bounds what is read of a table of mounts, in bytes.
const maxMounts = 256 << 10

func (p *Process) path(name string) string {
	return filepath.Join(p.machine.proc(), strconv.Itoa(p.id.PID), name)
}
