//go:build !linux && !darwin

package probe

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/shirou/gopsutil/v3/mem"
	"github.com/shirou/gopsutil/v3/process"
)

// Process is an open process. Its methods are not safe for concurrent use. The
// caller closes it.
type Process struct {
	id   Identity
	name string
	ps   *process.Process
}

// Open opens a process of the machine. The error is ErrExited when there is
// none of this pid (or the system hides it), and os.ErrPermission when its files
// may not be read.
func (m Machine) Open(pid int) (*Process, error) {
	if pid <= 0 || pid > 1<<31-1 {
		return nil, fmt.Errorf("open process %d: %w", pid, ErrExited)
	}
	ps, err := process.NewProcess(int32(pid))
	if err != nil {
		return nil, fmt.Errorf("open process %d: %w", pid, gone(err))
	}
	start, err := ps.CreateTime()
	if err != nil {
		return nil, fmt.Errorf("open process %d: %w", pid, gone(err))
	}
	name, _ := ps.Name() // a process without a readable name is still a process
	return &Process{id: Identity{PID: pid, Start: start}, name: name, ps: ps}, nil
}

// gone names the errors by which gopsutil says that a process has exited.
func gone(err error) error {
	if errors.Is(err, process.ErrorProcessNotRunning) || errors.Is(err, os.ErrNotExist) {
		return ErrExited
	}
	return err
}

// Identity is which process this is.
func (p *Process) Identity() Identity { return p.id }

// Name is the process's short name when it was opened.
func (p *Process) Name() string { return p.name }

// Close does nothing here.
func (p *Process) Close() error { return nil }

// Read reads RSS; the others are Unknown. It returns ErrExited when the process
// is no more.
func (p *Process) Read(m *Memory) error {
	*m = UnknownMemory()
	// A later process may have got the pid.
	if running, err := p.ps.IsRunning(); err != nil || !running {
		return fmt.Errorf("read memory of process %d: %w", p.id.PID, errors.Join(ErrExited, err))
	}
	info, err := p.ps.MemoryInfo()
	if err != nil {
		return fmt.Errorf("read memory of process %d: %w", p.id.PID, gone(err))
	}
	if info.RSS == 0 {
		return fmt.Errorf("read memory of process %d: %w", p.id.PID, ErrExited)
	}
	m.RSS = int64(info.RSS)
	return nil
}

// ReadSplit reads everything that the system tells, which here is as Read.
func (p *Process) ReadSplit(m *Memory) error { return p.Read(m) }

// parents maps every process of the machine to its parent.
func parents() (map[int]int, error) {
	all, err := process.Processes()
	if err != nil {
		return nil, err
	}
	of := make(map[int]int, len(all))
	for _, ps := range all {
		if parent, err := ps.Ppid(); err == nil {
			of[int(ps.Pid)] = int(parent)
		}
	}
	return of, nil
}

// ReadTotals reads the totals of the machine; there are no control groups here.
func (m Machine) ReadTotals(pid int) (Totals, error) {
	t := Totals{Unknown, Unknown, Unknown, Unknown, Unknown, Unknown}
	v, err := mem.VirtualMemory()
	if err != nil {
		return t, fmt.Errorf("read memory of the machine: %w", err)
	}
	t.Memory, t.Available = int64(v.Total), int64(v.Available)
	if s, err := mem.SwapMemory(); err == nil {
		t.SwapTotal, t.SwapFree = int64(s.Total), int64(s.Free)
	}
	return t, nil
}

// Self is what this process has used so far.
func Self() (Usage, error) {
	u := Usage{RSS: Unknown}
	p, err := Machine{}.Open(os.Getpid())
	if err != nil {
		return u, err
	}
	times, err := p.ps.Times()
	if err != nil {
		return u, fmt.Errorf("read own usage: %w", err)
	}
	u.CPU = time.Duration((times.User + times.System) * float64(time.Second))
	var m Memory
	if err := p.Read(&m); err != nil {
		return u, err
	}
	u.RSS = m.RSS
	return u, nil
}
