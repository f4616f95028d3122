package drm

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/gpumem/gpumem/probe/procfs"
)

// Scan reads all processes of the machine. Processes that end meanwhile are
// left out; processes that may not be looked at are counted.
func (x *Index) Scan() (Scan, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return Scan{}, ErrClosed
	}
	pids, err := x.proc().PIDs(nil)
	if err != nil {
		return Scan{}, err
	}
	s := pass{x: x, holders: make(map[string]int), bad: make(map[string]int)}
	alive := make(map[int]bool)
	for _, pid := range pids {
		alive[pid] = true
		s.visit(pid)
	}
	for pid := range x.processes {
		if !alive[pid] {
			x.forget(pid)
		}
	}
	x.holders = s.holders
	return s.finish(), nil
}

// pass is a scan under way.
type pass struct {
	x       *Index
	out     Scan
	held    []*known // of the processes in out
	holders map[string]int
	bad     map[string]int
}

// visit reads one process.
func (s *pass) visit(pid int) {
	k, err := s.x.process(pid)
	switch {
	case errors.Is(err, fs.ErrPermission):
		if s.x.hasMemory(pid) {
			s.out.Hidden = append(s.out.Hidden, pid)
		}
		return
	case err != nil || len(k.files) == 0:
		return
	}
	s.x.read(k)
	clients := 0
	for n, f := range k.files {
		if f.info.Driver == "" || repeats(k.files[:n], &f.info) {
			continue
		}
		clients++
		s.bad[f.info.Driver] += f.info.Bad
		if f.info.ClientID == Unknown {
			s.out.Devices = addUsage(s.out.Devices, 0, &f.info)
			continue
		}
		key := f.info.clientKey()
		if s.holders[key]++; s.holders[key] == 1 {
			s.out.Devices = addUsage(s.out.Devices, 0, &f.info)
		}
	}
	if clients > 0 {
		s.out.Processes = append(s.out.Processes, Process{PID: pid})
		s.held = append(s.held, k)
	}
}

// finish charges the processes, now that the clients' holders are known, and
// puts everything in order.
func (s *pass) finish() Scan {
	for i := range s.out.Processes {
		s.out.Processes[i].Devices = s.x.charge(s.held[i], nil)
		slices.SortFunc(s.out.Processes[i].Devices, byDevice)
		for _, u := range s.out.Processes[i].Devices {
			for d := range s.out.Devices {
				if u.Shared && byDevice(s.out.Devices[d], u) == 0 {
					s.out.Devices[d].Shared = true
				}
			}
		}
	}
	slices.SortFunc(s.out.Processes, func(a, b Process) int { return cmp.Compare(a.PID, b.PID) })
	slices.SortFunc(s.out.Devices, byDevice)
	for driver, n := range s.bad {
		if n > 0 {
			s.out.Warnings = append(s.out.Warnings,
				fmt.Sprintf("%s: %d figures of fdinfo not understood", driver, n))
		}
	}
	slices.Sort(s.out.Warnings)
	return s.out
}

func byDevice(a, b Usage) int {
	return cmp.Or(cmp.Compare(a.PDev, b.PDev), cmp.Compare(a.Driver, b.Driver))
}

// hasMemory reports whether a process has memory of its own: a thread of the
// kernel and a zombie have none, and hide nothing. statm is readable for
// everyone.
func (x *Index) hasMemory(pid int) bool {
	b, err := x.proc().Read(pid, "statm")
	s, ok := procfs.ParseStatm(b)
	return err == nil && (!ok || s.Size > 0)
}

// proc is where the proc file system is.
func (x *Index) proc() procfs.Dir { return procfs.Dir(filepath.Join(x.root, "proc")) }
