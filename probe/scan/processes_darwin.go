package scan

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/probe/apple"
)

func machine(string) probe.Machine { return probe.Machine{} }

func rootOf(root string) string {
	if root == "" {
		return "/"
	}
	return root
}

// reader looks at processes.
type reader struct {
	kernel *apple.Kernel // nil in a build that loads nothing
	users  map[uint32]string
}

func (s *Scan) readProcesses(o Options) error {
	r := reader{users: map[uint32]string{}}
	r.kernel, _ = apple.OpenKernel(apple.Options{}) // without it memory is unknown
	if len(o.PIDs) > 0 {
		for _, pid := range o.PIDs {
			info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
			if err != nil || int(info.Proc.P_pid) != pid || pid <= 0 {
				return fmt.Errorf("process %d: %w", pid, ErrNoProcess)
			}
			s.add(r.look(info, s.At))
		}
		return nil
	}
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return fmt.Errorf("list processes: %w", err)
	}
	for i := range all {
		switch all[i].Proc.P_pid {
		case 0:
			s.Kernel++ // kernel_task, whose memory is the kernel's
		default:
			s.add(r.look(&all[i], s.At))
		}
	}
	return nil
}

func (s *Scan) add(p Process) {
	if p.Hidden {
		s.Hidden++
	}
	s.Processes = append(s.Processes, p)
}

// look takes over what the list of processes says and asks for the rest.
func (r *reader) look(info *unix.KinfoProc, now time.Time) Process {
	name, _, _ := bytes.Cut(info.Proc.P_comm[:], []byte{0})
	start := time.Unix(info.Proc.P_starttime.Sec, int64(info.Proc.P_starttime.Usec)*1000)
	p := Process{
		PID: int(info.Proc.P_pid), Parent: int(info.Eproc.Ppid), Start: start.UnixMilli(), Name: string(name),
		UID: int(info.Eproc.Ucred.Uid), Owner: r.owner(info.Eproc.Ucred.Uid), Age: max(now.Sub(start), 0),
		CPU: time.Duration(Unknown), State: stateFrom(info.Proc.P_stat), Memory: probe.UnknownMemory(),
	}
	if p.State != Zombie {
		r.memory(&p)
		r.program(&p)
	}
	return p
}

func (r *reader) memory(p *Process) {
	if r.kernel == nil {
		return
	}
	u, err := r.kernel.Usage(p.PID)
	if err != nil {
		p.Hidden = errors.Is(err, apple.ErrPermission)
		return
	}
	p.Memory.RSS, p.Memory.Footprint, p.Memory.Peak = u.Resident, u.Footprint, u.PeakFootprint
	p.CPU = r.kernel.Duration(u.UserTicks) + r.kernel.Duration(u.SystemTicks)
	p.Threads, _ = r.kernel.Threads(p.PID) // unknown is 0, as elsewhere
}

// program fills in the executable, the command line and what is read of the
// environment.
func (r *reader) program(p *Process) {
	if r.kernel != nil {
		p.Executable, _ = r.kernel.Path(p.PID) // unknown is empty
	}
	if st, err := os.Stat(p.Executable); err == nil && p.Executable != "" {
		p.Version = fileVersion(st.Size(), st.ModTime())
	}
	b, err := unix.SysctlRaw("kern.procargs2", p.PID)
	if err != nil {
		return // another user's
	}
	if a, err := apple.ParseArguments(b); err == nil {
		p.Command, p.Tooling = a.Command, append(apple.Tooling(a.Env), apple.BundleTooling(p.Executable)...)
	}
}

// owner is the name of a user, else the number.
func (r *reader) owner(uid uint32) string {
	if name, ok := r.users[uid]; ok {
		return name
	}
	name := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(name); err == nil {
		name = u.Username
	}
	r.users[uid] = name
	return name
}

// stateFrom puts p_stat into ours (XNU, bsd/sys/proc.h). The kernel calls every
// process that may run, running.
func stateFrom(stat int8) State {
	switch stat {
	case 2:
		return Running
	case 3:
		return Sleeping
	case 4:
		return Stopped
	case 5:
		return Zombie
	}
	return StateUnknown
}
