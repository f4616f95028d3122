package tracer

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// sharedFolder is where shm_open and its users make segments: files of memory.
	sharedFolder = "/dev/shm"
	// systemV has the segments of shmget.
	systemV       = "/proc/sysvipc/shm"
	processFolder = "/proc"
	// mostSegments bounds the segments that are looked at.
	mostSegments = 100_000
	namedShared  = 3
	ours         = "gpumem-capture-" // how the folders of our own rings begin, of this run and of others
)

// segments are the shared-memory segments of this machine, with the bytes of memory
// that each holds.
type segments map[string]int64

// readSegments reads those of POSIX, which are files, and those of System V.
func readSegments(folder, systemV string) segments {
	all := segments{}
	filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if len(all) >= mostSegments {
			return filepath.SkipAll
		}
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), ours) {
			return filepath.SkipDir
		}
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				all[path] = st.Blocks * 512
			}
		}
		return nil
	})
	if f, err := os.Open(systemV); err == nil {
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan() && len(all) < mostSegments; {
			all.addSystemV(strings.Fields(lines.Text()))
		}
	}
	return all
}

// addSystemV takes in a line of the kernel's of a segment that nobody has attached: the
// second column is the identifier, the one but last the bytes that are resident.
func (s segments) addSystemV(columns []string) {
	const attached = 6
	if len(columns) < 15 || columns[attached] != "0" {
		return
	}
	if bytes, err := strconv.ParseInt(columns[len(columns)-2], 10, 64); err == nil {
		s["shmid "+columns[1]] = bytes
	}
}

// newOf are the names of those that were not before and hold something, with the bytes of all.
func (s segments) newOf(before segments) (names []string, bytes int64) {
	for name, size := range s {
		if _, old := before[name]; old || size == 0 {
			continue
		}
		names = append(names, name)
		bytes += size
	}
	slices.Sort(names)
	return names, bytes
}

// leftOf says which segments are here that were not before, when they hold more than a
// little; empty when there are none. Nobody's memory but the machine's shows them.
func (s segments) leftOf(before segments) string {
	names, bytes := s.newOf(before)
	if bytes < leftLeast {
		return ""
	}
	what := "segments of shared memory were made while it ran and are"
	if len(names) == 1 {
		what = "segment of shared memory was made while it ran and is"
	}
	return fmt.Sprintf("%d %s still there, with %d MiB (%s): no process's memory shows them, and they stay "+
		"until they are removed (shm_unlink, or shmctl with IPC_RMID)", len(names), what, bytes>>20, some(names))
}

// unusedOf says which of them no process has used, while the program ran.
func (s segments) unusedOf(before segments) string {
	names, bytes := s.newOf(before)
	if bytes < leftLeast {
		return ""
	}
	return fmt.Sprintf("while it ran, %d MiB of shared memory lay in segments that no process had mapped (%d: %s): "+
		"no process's memory shows them. Unlink each once its last reader has closed it", bytes>>20, len(names), some(names))
}

// some are the first names.
func some(names []string) string {
	shown := strings.Join(names[:min(len(names), namedShared)], ", ")
	if len(names) > namedShared {
		shown += ", …"
	}
	return shown
}

// Times between looks at segments while the program runs: the first, and the longest. Each is
// twice the one before.
const (
	firstSegments = 2 * time.Second
	lastSegments  = time.Minute
)

// sharedMemory is what is known of the segments of one run.
type sharedMemory struct {
	before segments // that were there when it began
	mu     sync.Mutex
	unused segments // that no process had mapped at the last two looks
}

// newSharedMemory notes the segments that are there.
func newSharedMemory() *sharedMemory {
	return &sharedMemory{before: readSegments(sharedFolder, systemV)}
}

// follow looks now and then for segments that no process has mapped, until done: a program may
// make more and more of them, and a helper of its may remove all of them at its end.
func (m *sharedMemory) follow(done <-chan struct{}) {
	unmapped := segments{}
	for wait := firstSegments; ; wait = min(2*wait, lastSegments) {
		select {
		case <-done:
			return
		case <-time.After(wait):
		}
		now := readSegments(sharedFolder, systemV)
		if _, bytes := now.newOf(m.before); bytes >= leftLeast {
			now.withoutMapped(processFolder)
		}
		stayed := now.notedIn(&unmapped)
		m.mu.Lock()
		m.unused = stayed
		m.mu.Unlock()
	}
}

// hadUnused says which segments no process had mapped while the program ran; empty of none.
func (m *sharedMemory) hadUnused() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.unused.unusedOf(m.before)
}

// left says which segments a program that has ended has left behind, or had while it ran; empty
// of none.
func (m *sharedMemory) left() string {
	now := readSegments(sharedFolder, systemV)
	if now.leftOf(m.before) != "" {
		now.withoutMapped(processFolder)
		if text := now.leftOf(m.before); text != "" {
			return text
		}
	}
	return m.hadUnused()
}

// notedIn are those that were in a look before as well, and makes this the look before: what is
// under way from one process to another is mapped a moment later.
func (s segments) notedIn(last *segments) segments {
	both := segments{}
	for name, size := range s {
		if _, noted := (*last)[name]; noted {
			both[name] = size
		}
	}
	*last = s
	return both
}

// withoutMapped drops the segments that a process has mapped: they are in use, by another
// program perhaps.
func (s segments) withoutMapped(processes string) {
	maps, _ := filepath.Glob(filepath.Join(processes, "[0-9]*", "maps"))
	for _, file := range maps {
		f, err := os.Open(file)
		if err != nil {
			continue // it has ended, or is another user's
		}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if at := strings.IndexByte(lines.Text(), '/'); at >= 0 {
				delete(s, lines.Text()[at:])
			}
		}
		f.Close()
	}
}
