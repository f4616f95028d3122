package probe

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/gpumem/gpumem/probe/apple"
)

// zombie is SZOMB of XNU's bsd/sys/proc.h.
const zombie = 5

// Process is an open process. Its methods are not safe for concurrent use. The
// caller closes it.
type Process struct {
	id   Identity
	name string
	ps   *apple.Process
}

// Open opens a process of the machine. The error is ErrExited when there is
// none of this pid, and os.ErrPermission for another user's.
func (m Machine) Open(pid int) (*Process, error) {
	p, err := open(pid)
	if err != nil {
		return nil, fmt.Errorf("open process %d: %w", pid, kind(err))
	}
	return p, nil
}

func open(pid int) (*Process, error) {
	if pid <= 0 || pid > 1<<31-1 {
		return nil, ErrExited
	}
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(info.Proc.P_pid) != pid || info.Proc.P_stat == zombie {
		return nil, errors.Join(ErrExited, err) // the sysctl gives nothing for no process
	}
	// Loading finds the libraries in the loader's cache, some microseconds.
	k, err := apple.OpenKernel(apple.Options{})
	if err != nil {
		return nil, err
	}
	ps, err := k.Open(pid)
	if err != nil {
		return nil, err
	}
	return &Process{id: Identity{PID: pid, Start: startOf(info)}, name: nameOf(info), ps: ps}, nil
}

// startOf is when a process began, in milliseconds since 1970.
func startOf(info *unix.KinfoProc) int64 {
	at := info.Proc.P_starttime
	return at.Sec*1000 + int64(at.Usec)/1000
}

// nameOf is a process's short name, 16 bytes of it.
func nameOf(info *unix.KinfoProc) string {
	name, _, _ := bytes.Cut(info.Proc.P_comm[:], []byte{0})
	return string(name)
}

// kind puts the errors of package apple into ours.
func kind(err error) error {
	switch {
	case errors.Is(err, apple.ErrGone):
		return ErrExited
	case errors.Is(err, apple.ErrPermission):
		return fmt.Errorf("%w: %w", os.ErrPermission, err)
	}
	return err
}

// Identity is which process this is.
func (p *Process) Identity() Identity { return p.id }

// Name is the process's short name when it was opened.
func (p *Process) Name() string { return p.name }

// Close gives back what was opened.
func (p *Process) Close() error {
	p.ps.Close()
	return nil
}

// Read reads RSS, Footprint and Peak by one call; the others are Unknown. It
// returns ErrExited when the process is no more.
func (p *Process) Read(m *Memory) error {
	*m = UnknownMemory()
	u, err := p.ps.Usage()
	if err != nil {
		return fmt.Errorf("read memory of process %d: %w", p.id.PID, kind(err))
	}
	m.RSS, m.Footprint, m.Peak = u.Resident, u.Footprint, u.PeakFootprint
	return nil
}

// ReadSplit reads everything that the system tells, by two calls one after the
// other. It returns ErrExited when the process is no more; a process whose
// ledger may not be read has no split.
func (p *Process) ReadSplit(m *Memory) error {
	if err := p.Read(m); err != nil {
		return err
	}
	if l, err := p.ps.Ledger(); err == nil {
		m.Anon, m.File, m.Swap = l.Internal, l.External, l.Compressed
	}
	return nil
}

// parents maps every process of the machine to its parent.
func parents() (map[int]int, error) {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	of := make(map[int]int, len(all))
	for i := range all {
		of[int(all[i].Proc.P_pid)] = int(all[i].Eproc.Ppid)
	}
	return of, nil
}
