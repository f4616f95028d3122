package probe

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/gpumem/gpumem/probe/procfs"
)

// maxStatus bounds /proc/PID/status, which grows with a user's groups.
const maxStatus = 1 << 20

func (m Machine) proc() string {
	if m.Proc == "" {
		return "/proc"
	}
	return m.Proc
}

// Process is an open process. Its methods are not safe for concurrent use. The
// caller closes it.
type Process struct {
	id      Identity
	name    string
	page    int64
	statm   *os.File
	status  *os.File
	buf     []byte
	machine Machine

	// counters are those that a Java virtual machine publishes, nil of another program, and
	// published is where they are read to.
	counters  *os.File
	published []byte
}

// Open opens a process of the machine. The error is ErrExited when there is
// none of this pid (or the system hides it), and os.ErrPermission when its files
// may not be read.
func (m Machine) Open(pid int) (*Process, error) {
	p, err := m.open(pid)
	if err != nil {
		return nil, fmt.Errorf("open process %d: %w", pid, gone(err))
	}
	return p, nil
}

func (m Machine) open(pid int) (*Process, error) {
	if pid <= 0 {
		return nil, ErrExited // 0 and below mean something else to the kernel
	}
	dir := filepath.Join(m.proc(), strconv.Itoa(pid))
	p := &Process{page: int64(os.Getpagesize()), buf: make([]byte, 4096), machine: m}
	var err error
	if p.statm, err = os.Open(filepath.Join(dir, "statm")); err != nil {
		return nil, err
	}
	if p.status, err = os.Open(filepath.Join(dir, "status")); err != nil {
		p.statm.Close()
		return nil, err
	}
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err == nil {
		p.id.PID = pid
		p.name, p.id.Start, err = nameAndStart(stat)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// gone names the errors by which the kernel says that a process has exited.
func gone(err error) error {
	if procfs.IsGone(err) {
		return ErrExited
	}
	return err
}

// nameAndStart takes them out of /proc/PID/stat.
func nameAndStart(stat []byte) (string, int64, error) {
	s, ok := procfs.ParseStat(stat)
	if !ok {
		return "", 0, errors.New("stat is not in the form expected")
	}
	return string(s.Name), s.Start, nil
}

// Identity is which process this is.
func (p *Process) Identity() Identity { return p.id }

// Name is the process's short name when it was opened.
func (p *Process) Name() string { return p.name }

// Close closes the process's files.
func (p *Process) Close() error {
	if p.counters != nil {
		p.counters.Close() //nolint:errcheck // it was only read
	}
	return errors.Join(p.statm.Close(), p.status.Close())
}

// Read reads RSS and Anon, the quickest; the others are Unknown. It returns
// ErrExited when the process is no more.
func (p *Process) Read(m *Memory) error {
	*m = UnknownMemory()
	n, err := p.statm.ReadAt(p.buf, 0)
	if n == 0 {
		return p.readError(err)
	}
	s, ok := procfs.ParseStatm(p.buf[:n])
	if !ok {
		return fmt.Errorf("read memory of process %d: statm is not in the form expected", p.id.PID)
	}
	if s.Resident == 0 {
		return fmt.Errorf("read memory of process %d: %w", p.id.PID, ErrExited) // a zombie has none
	}
	m.RSS, m.Anon = s.Resident*p.page, max(s.Resident-s.Shared, 0)*p.page
	return nil
}

// readError is the error for a file that gave nothing.
func (p *Process) readError(err error) error {
	if err == io.EOF {
		err = ErrExited
	}
	err = gone(err)
	return fmt.Errorf("read memory of process %d: %w", p.id.PID, err)
}

// ReadSplit reads everything that the system tells, all from one moment. It
// returns ErrExited when the process is no more.
func (p *Process) ReadSplit(m *Memory) error {
	*m = UnknownMemory()
	n, err := p.status.ReadAt(p.buf, 0)
	for n == len(p.buf) && n < maxStatus {
		p.buf = make([]byte, 2*len(p.buf))
		n, err = p.status.ReadAt(p.buf, 0)
	}
	if n == 0 {
		return p.readError(err)
	}
	s := procfs.ParseMemory(p.buf[:n])
	m.RSS, m.Anon, m.File, m.Shmem, m.Swap = s.RSS, s.Anon, s.File, s.Shmem, s.Swap
	m.Threads, m.Reserved = s.Threads, s.Reserved
	if m.RSS <= 0 {
		*m = UnknownMemory()
		return fmt.Errorf("read memory of process %d: %w", p.id.PID, ErrExited)
	}
	m.Footprint = s.Footprint()
	return nil
}
