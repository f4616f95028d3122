//go:build !linux && !darwin

package scan

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/shirou/gopsutil/v3/process"

	"github.com/gpumem/gpumem/probe"
)

func machine(string) probe.Machine { return probe.Machine{} }

func rootOf(root string) string {
	if root == "" {
		return "/"
	}
	return root
}

func (s *Scan) readProcesses(o Options) error {
	if len(o.PIDs) > 0 {
		for _, pid := range o.PIDs {
			p, err := named(pid)
			if err != nil {
				return err
			}
			s.add(p, s.At)
		}
		return nil
	}
	all, err := process.Processes()
	if err != nil {
		return fmt.Errorf("list processes: %w", err)
	}
	for _, p := range all {
		s.add(p, time.Now())
	}
	return nil
}

// named is the process of a pid that somebody named.
func named(pid int) (*process.Process, error) {
	if pid > 0 && pid < 1<<31 {
		if p, err := process.NewProcess(int32(pid)); err == nil {
			return p, nil
		}
	}
	return nil, fmt.Errorf("process %d: %w", pid, ErrNoProcess)
}

// add takes over what gopsutil tells of a process.
func (s *Scan) add(ps *process.Process, now time.Time) {
	p := Process{
		PID: int(ps.Pid), UID: int(Unknown), Age: time.Duration(Unknown), CPU: time.Duration(Unknown),
		State:  StateUnknown,
		Memory: probe.UnknownMemory(),
	}
	if parent, err := ps.Ppid(); err == nil {
		p.Parent = int(parent)
	}
	if ms, err := ps.CreateTime(); err == nil {
		p.Start, p.Age = ms, max(now.Sub(time.UnixMilli(ms)), 0)
	}
	p.Name, _ = ps.Name() // unknown is empty, here and below
	p.Owner, _ = ps.Username()
	if uids, err := ps.Uids(); err == nil && len(uids) > 1 {
		p.UID = int(uids[1])
	}
	if words, err := ps.CmdlineSlice(); err == nil {
		p.Command = words
	}
	if times, err := ps.Times(); err == nil {
		p.CPU = time.Duration((times.User + times.System) * float64(time.Second))
	}
	if n, err := ps.NumThreads(); err == nil {
		p.Threads = int(n)
	}
	if words, err := ps.Status(); err == nil && len(words) > 0 {
		p.State = stateNamed(words[0])
	}
	info, err := ps.MemoryInfo()
	switch {
	case err == nil && info.RSS > 0:
		p.Memory.RSS = int64(info.RSS)
	case errors.Is(err, os.ErrPermission):
		p.Hidden = true
	}
	p.Executable, err = ps.Exe()
	p.Hidden = p.Hidden || errors.Is(err, os.ErrPermission)
	if st, err := os.Stat(p.Executable); err == nil && p.Executable != "" {
		p.Version = fileVersion(st.Size(), st.ModTime())
	}
	if p.Hidden {
		s.Hidden++
	}
	s.Processes = append(s.Processes, p)
}

// stateNamed puts gopsutil's word into ours.
func stateNamed(word string) State {
	switch word {
	case process.Running:
		return Running
	case process.Sleep, process.Idle:
		return Sleeping
	case process.Blocked, process.Wait, process.Lock:
		return Waiting
	case process.Stop:
		return Stopped
	case process.Zombie:
		return Zombie
	}
	return StateUnknown
}
