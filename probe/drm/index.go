package drm

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gpumem/gpumem/probe/procfs"
)

// Major numbers of the kernel's device files.
const (
	majorDRM   = 226
	majorAccel = 261
)

// maxOpen bounds the fdinfo files kept open over all processes; beyond it a
// file is opened for each reading, so that no limit of ours is exhausted.
const maxOpen = 512

// Index remembers which descriptors of which process are device files. It is
// safe for concurrent use; Close it to give its open files back.
type Index struct {
	root   string
	rescan time.Duration
	now    func() time.Time

	mu        sync.Mutex
	closed    bool
	open      int // files kept open
	processes map[int]*known
	holders   map[string]int // client to number of processes, of the last scan
	buffer    []byte
}

// known is what an Index knows of a process.
type known struct {
	at    time.Time // of the last reading of its fd folder
	files []*file
}

// file is one device descriptor of a process.
type file struct {
	fd   string
	path string   // of its fdinfo
	open *os.File // nil when too many are open
	info Info
}

// Open makes an index. It fails with ErrUnsupported on systems without a
// Linux proc file system, unless a root is given.
func Open(o Options) (*Index, error) {
	if o.Root == "" {
		if runtime.GOOS != "linux" {
			return nil, fmt.Errorf("%w on %s: it reads Linux's proc and sys", ErrUnsupported, runtime.GOOS)
		}
		o.Root = "/"
	}
	if o.Rescan <= 0 {
		o.Rescan = DefaultRescan
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Index{root: o.Root, rescan: o.Rescan, now: o.Now, processes: make(map[int]*known),
		holders: make(map[string]int), buffer: make([]byte, 16<<10)}, nil
}

// Close gives the open files back. Later calls fail with ErrClosed.
func (x *Index) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closed = true
	for pid := range x.processes {
		x.forget(pid)
	}
	return nil
}

// isClosed reports whether Close was called.
func (x *Index) isClosed() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.closed
}

// Sample appends to dst what each device holds for one process, and returns
// it; nothing is appended for a process without device files. Rereading a
// process whose descriptors are known allocates nothing beyond dst.
func (x *Index) Sample(pid int, dst []Usage) ([]Usage, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return dst, ErrClosed
	}
	k, err := x.process(pid)
	if err != nil {
		return dst, err
	}
	x.read(k)
	return x.charge(k, dst), nil
}

// process returns what is known of a process, after reading its fd folder if
// that was too long ago.
func (x *Index) process(pid int) (*known, error) {
	k := x.processes[pid]
	now := x.now()
	if k != nil && now.Sub(k.at) < x.rescan {
		return k, nil
	}
	files, err := x.descriptors(pid, k)
	if err != nil {
		x.forget(pid)
		return nil, err
	}
	if k == nil {
		k = &known{}
		x.processes[pid] = k
	}
	k.at, k.files = now, files
	return k, nil
}

// descriptors lists the device descriptors of a process, keeping the files of
// those that are known already.
func (x *Index) descriptors(pid int, old *known) ([]*file, error) {
	base := x.proc().Process(strconv.Itoa(pid))
	names, err := readNames(filepath.Join(base, "fd"))
	if procfs.IsGone(err) {
		err = fs.ErrNotExist // the kernel says so in two ways
	}
	if err != nil {
		return nil, fmt.Errorf("list descriptors of process %d: %w", pid, err)
	}
	before := make(map[string]*file)
	if old != nil {
		for _, f := range old.files {
			before[f.fd] = f
		}
	}
	var files []*file
	for _, fd := range names {
		if !x.isDevice(filepath.Join(base, "fd", fd)) {
			continue
		}
		f := before[fd]
		if f == nil {
			f = &file{fd: fd, path: filepath.Join(base, "fdinfo", fd)}
		}
		delete(before, fd)
		files = append(files, f)
	}
	for _, f := range before {
		x.closeFile(f)
	}
	return files, nil
}

// readNames lists a folder without looking at the entries, in any order.
func readNames(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	names, err := f.Readdirnames(-1)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return names, err
}

// isDevice reports whether a descriptor's link leads to a graphics device. By
// name first: only a name below /dev that is not the usual one is looked at
// for its device number.
func (x *Index) isDevice(link string) bool {
	to, err := os.Readlink(link)
	if err != nil || !strings.HasPrefix(to, "/dev/") {
		return false
	}
	if strings.HasPrefix(to, "/dev/dri/") || strings.HasPrefix(to, "/dev/accel/") {
		return true
	}
	major, ok := deviceMajor(link)
	return ok && (major == majorDRM || major == majorAccel)
}

// read rereads every fdinfo of a process. A file that cannot be read any more
// (the descriptor was closed, the process ended) says nothing: its Driver is
// empty.
func (x *Index) read(k *known) {
	for _, f := range k.files {
		n, err := x.readFile(f)
		if err != nil {
			f.info.parse(nil)
			continue
		}
		f.info.parse(x.buffer[:n])
	}
}

// readFile fills the buffer with a fdinfo file.
func (x *Index) readFile(f *file) (int, error) {
	h := f.open
	if h == nil {
		var err error
		if h, err = os.Open(f.path); err != nil {
			return 0, err
		}
		if x.open < maxOpen {
			x.open++
			f.open = h
		} else {
			defer h.Close()
		}
	}
	for {
		n, err := h.ReadAt(x.buffer, 0)
		if err == nil && n == len(x.buffer) && n < 1<<20 {
			x.buffer = make([]byte, 2*n)
			continue
		}
		if err == io.EOF || err == nil {
			return n, nil
		}
		x.closeFile(f)
		return 0, err
	}
}

func (x *Index) closeFile(f *file) {
	if f.open != nil {
		_ = f.open.Close() // nothing was written
		f.open = nil
		x.open--
	}
}

func (x *Index) forget(pid int) {
	if k := x.processes[pid]; k != nil {
		for _, f := range k.files {
			x.closeFile(f)
		}
		delete(x.processes, pid)
	}
}

// charge appends one usage for each device, counting each client once.
func (x *Index) charge(k *known, dst []Usage) []Usage {
	start := len(dst)
	for n, f := range k.files {
		if f.info.Driver == "" || repeats(k.files[:n], &f.info) {
			continue
		}
		dst = addUsage(dst, start, &f.info)
		if x.holdersOf(&f.info) > 1 {
			dst[len(dst)-1].Shared = true
		}
	}
	return dst
}

// holdersOf is the number of processes that held a client at the last scan.
func (x *Index) holdersOf(i *Info) int {
	if i.ClientID == Unknown || len(x.holders) == 0 {
		return 0
	}
	return x.holders[i.clientKey()]
}

// repeats reports whether a client was met among files before.
func repeats(files []*file, i *Info) bool {
	if i.ClientID == Unknown {
		return false
	}
	for _, f := range files {
		if f.info.ClientID == i.ClientID && f.info.PDev == i.PDev && f.info.Driver == i.Driver {
			return true
		}
	}
	return false
}

// addUsage adds a client to its device's usage, which is moved to the end of
// dst so that the caller finds it there.
func addUsage(dst []Usage, start int, i *Info) []Usage {
	at := -1
	for n := start; n < len(dst); n++ {
		if dst[n].PDev == i.PDev && dst[n].Driver == i.Driver {
			at = n
		}
	}
	if at < 0 {
		dst = append(dst, Usage{Driver: i.Driver, PDev: i.PDev, LocalBytes: Unknown, HostBytes: Unknown})
		at = len(dst) - 1
	}
	last := len(dst) - 1
	dst[at], dst[last] = dst[last], dst[at]
	u := &dst[last]
	u.LocalBytes = add(u.LocalBytes, i.LocalBytes())
	u.HostBytes = add(u.HostBytes, i.HostBytes())
	u.Clients++
	return dst
}
