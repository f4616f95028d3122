package scan

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpumem/gpumem/probe"
)

// maxWorkers bounds how many processes are looked at at once: the kernel's
// own locks make more of them slower.
const maxWorkers = 8

// maxFile is how much of a file of a process is read. Status grows with the
// groups of a user; cmdline may have megabytes, of which maxCommand are kept.
const (
	maxFile    = 64 << 10
	maxCommand = 4 << 10
)

func machine(root string) probe.Machine {
	if root == "" {
		return probe.Machine{}
	}
	return probe.Machine{Proc: filepath.Join(root, "proc"), Cgroup: filepath.Join(root, "sys/fs/cgroup")}
}

func rootOf(root string) string {
	if root == "" {
		return "/"
	}
	return root
}

// reader looks at processes; its caches are shared by the workers.
type reader struct {
	proc   string
	uptime time.Duration // Unknown when not told
	users  map[int]string

	mu       sync.Mutex
	versions map[fileKey]Version
}

// fileKey is an executable as the file system knows it.
type fileKey struct {
	dev, ino uint64
	size     int64
	modified int64
}

func newReader(root string) *reader {
	r := &reader{
		proc: filepath.Join(rootOf(root), "proc"), users: readUsers(root), versions: map[fileKey]Version{}, uptime: time.Duration(Unknown),
	}
	if b, err := os.ReadFile(filepath.Join(r.proc, "uptime")); err == nil {
		text, _, _ := strings.Cut(string(b), " ")
		if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds >= 0 {
			r.uptime = time.Duration(seconds * float64(time.Second))
		}
	}
	return r
}

// readUsers are the names of users, as the machine itself keeps them.
func readUsers(root string) map[int]string {
	users := map[int]string{}
	b, err := os.ReadFile(filepath.Join(rootOf(root), "etc/passwd"))
	if err != nil {
		return users // numbers do as well
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Split(line, ":")
		if len(f) < 3 {
			continue
		}
		if uid, err := strconv.Atoi(f[2]); err == nil && users[uid] == "" {
			users[uid] = f[0]
		}
	}
	return users
}

func (s *Scan) readProcesses(o Options) error {
	r := newReader(o.Root)
	pids, err := o.PIDs, error(nil)
	if len(pids) == 0 {
		if pids, err = r.list(); err != nil {
			return err
		}
	}
	found := make([]look, len(pids))
	r.lookAt(pids, found)
	for _, f := range found {
		switch {
		case len(o.PIDs) > 0 && f.err != nil:
			return f.err
		case f.err == nil:
			s.Processes = append(s.Processes, f.p)
			if f.p.Hidden {
				s.Hidden++
			}
		case f.kernel:
			s.Kernel++
		}
	}
	s.Unlisted = len(o.PIDs) == 0 && r.unlisted()
	return nil
}

// list is the pids of the machine.
func (r *reader) list() ([]int, error) {
	dir, err := os.Open(r.proc)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids, nil
}

// unlisted reports whether the system hides the processes of others: the mount
// option hidepid, which does not concern root.
func (r *reader) unlisted() bool {
	if os.Geteuid() == 0 {
		return false
	}
	b, err := os.ReadFile(filepath.Join(r.proc, "self/mounts"))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 4 || f[2] != "proc" || f[1] != "/proc" {
			continue
		}
		for _, option := range strings.Split(f[3], ",") {
			switch option {
			case "hidepid=2", "hidepid=4", "hidepid=invisible", "hidepid=ptraceable":
				return true
			}
		}
	}
	return false
}

// look is what was found of one pid.
type look struct {
	p      Process
	kernel bool
	err    error
}

// lookAt looks at all pids, on as many threads as there are cores.
func (r *reader) lookAt(pids []int, found []look) {
	workers := max(1, min(runtime.GOMAXPROCS(0), maxWorkers, len(pids)/16))
	var wait sync.WaitGroup
	for w := range workers {
		wait.Add(1)
		go func() {
			defer wait.Done()
			buf := make([]byte, maxFile)
			for i := w; i < len(pids); i += workers {
				found[i] = r.look(pids[i], buf)
			}
		}()
	}
	wait.Wait()
}

// look looks at one pid.
func (r *reader) look(pid int, buf []byte) look {
	dir := r.proc + "/" + strconv.Itoa(pid)
	p := Process{
		PID: pid, UID: int(Unknown), Age: time.Duration(Unknown), CPU: time.Duration(Unknown), State: StateUnknown,
		Memory: probe.UnknownMemory(),
	}
	b, err := readFile(dir+"/stat", buf)
	if err != nil {
		return look{err: r.absent(pid, err)}
	}
	st, ok := parseStat(b)
	if !ok {
		return look{err: fmt.Errorf("look at process %d: stat is not in the form expected", pid)}
	}
	st.fill(&p, r.uptime)
	if st.kernel {
		return look{kernel: true, err: &ThreadError{PID: pid, Name: p.Name}}
	}
	b, err = readFile(dir+"/status", buf)
	if err != nil {
		return look{err: r.absent(pid, err)}
	}
	group := parseStatus(b, &p)
	if group != 0 && group != pid {
		e := &ThreadError{PID: pid, Of: group}
		if of, err := readFile(r.proc+"/"+strconv.Itoa(group)+"/comm", buf); err == nil {
			e.Name = strings.TrimSpace(string(of))
		}
		return look{err: e}
	}
	if p.UID != int(Unknown) {
		p.Owner = r.owner(p.UID)
	}
	if p.State != Zombie {
		r.program(dir, &p, buf)
	}
	return look{p: p}
}

// absent is the error for a pid whose files are not there.
func (r *reader) absent(pid int, err error) error {
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("process %d: %w", pid, ErrNoProcess)
	}
	return fmt.Errorf("look at process %d: %w", pid, err)
}

func (r *reader) owner(uid int) string {
	if name := r.users[uid]; name != "" {
		return name
	}
	return strconv.Itoa(uid)
}

// program fills in the command line, the executable and its version.
func (r *reader) program(dir string, p *Process, buf []byte) {
	if b, err := readFile(dir+"/cmdline", buf[:maxCommand]); err == nil && len(b) > 0 {
		p.Command = strings.Split(strings.TrimRight(string(b), "\x00"), "\x00")
	}
	exe := dir + "/exe"
	to, err := os.Readlink(exe)
	if err != nil {
		p.Hidden = errors.Is(err, os.ErrPermission)
		return
	}
	p.Executable, p.Deleted = strings.CutSuffix(to, " (deleted)")
	p.Version = r.version(exe)
}

// version reads the version of an executable through the process's own link,
// which also leads to a deleted file and into a container.
func (r *reader) version(exe string) Version {
	var st unix.Stat_t
	if unix.Stat(exe, &st) != nil {
		return Version{}
	}
	modified := time.Unix(st.Mtim.Unix())
	key := fileKey{uint64(st.Dev), st.Ino, st.Size, modified.UnixNano()}
	r.mu.Lock()
	v, ok := r.versions[key]
	r.mu.Unlock()
	if ok {
		return v
	}
	f, err := os.Open(exe)
	if err != nil {
		v = fileVersion(st.Size, modified)
	} else {
		v = versionOf(f, st.Size, modified)
		f.Close()
	}
	r.mu.Lock()
	r.versions[key] = v
	r.mu.Unlock()
	return v
}

// readFile reads the head of a file into buf, without the costs of os.File.
func readFile(path string, buf []byte) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	total := 0
	for total < len(buf) {
		n, err := unix.Read(fd, buf[total:])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return nil, err
		case n == 0:
			if total == 0 {
				return nil, io.EOF
			}
			return buf[:total], nil
		}
		total += n
	}
	return buf[:total], nil
}
