package scan

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/probe/procfs"
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
	proc   procfs.Dir
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
		proc: procfs.Dir(filepath.Join(rootOf(root), "proc")), users: readUsers(root),
		versions: map[fileKey]Version{}, uptime: time.Duration(Unknown),
	}
	if b, err := os.ReadFile(r.proc.Process("uptime")); err == nil {
		if up, ok := procfs.ParseUptime(b); ok {
			r.uptime = up
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
		if pids, err = r.proc.PIDs(nil); err != nil {
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

// unlisted reports whether the system hides the processes of others: the mount
// option hidepid, which does not concern root.
func (r *reader) unlisted() bool {
	if os.Geteuid() == 0 {
		return false
	}
	b, err := os.ReadFile(r.proc.Process("self/mounts"))
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
	dir := r.proc.Process(strconv.Itoa(pid))
	p := Process{
		PID: pid, UID: int(Unknown), Age: time.Duration(Unknown), CPU: time.Duration(Unknown),
		State:  StateUnknown,
		Memory: probe.UnknownMemory(),
	}
	b, err := procfs.ReadHead(dir+"/stat", buf)
	if err != nil {
		return look{err: r.absent(pid, err)}
	}
	st, ok := procfs.ParseStat(b)
	if !ok {
		return look{err: fmt.Errorf("look at process %d: stat is not in the form expected", pid)}
	}
	p.takeStat(&st, r.uptime)
	if st.Kernel {
		return look{kernel: true, err: &ThreadError{PID: pid, Name: p.Name}}
	}
	b, err = procfs.ReadHead(dir+"/status", buf)
	if err != nil {
		return look{err: r.absent(pid, err)}
	}
	status := procfs.ParseStatus(b)
	p.takeStatus(&status)
	if group := status.Group; group != 0 && group != pid {
		e := &ThreadError{PID: pid, Of: group}
		if of, err := procfs.ReadHead(r.proc.Path(group, "comm"), buf); err == nil {
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
	if procfs.IsGone(err) {
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
	if b, err := procfs.ReadHead(dir+"/cmdline", buf[:maxCommand]); err == nil && len(b) > 0 {
		p.Command = procfs.ParseStrings(bytes.TrimRight(b, "\x00")) // some pad their title
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
