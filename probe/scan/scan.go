package scan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gpumem/gpumem/internal/secret"
	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/probe/apple"
)

// Unknown stands for a number that nobody told. It is never 0.
const Unknown = probe.Unknown

// Options of a scan. The zero value looks at all processes of this machine and
// asks no driver.
type Options struct {
	// Root is the root of the file system that holds proc, etc and sys; ""
	// is "/". It has a meaning on Linux only.
	Root string
	// PIDs are the processes to look at; none means all.
	PIDs []int
	// Sources tell the GPU bytes; nil asks nobody.
	Sources *Sources
}

// Scan is what one look at the machine found. The caller owns it.
type Scan struct {
	At      time.Time
	Elapsed time.Duration
	// Processes by footprint, greatest first; those of equal or unknown
	// footprint by pid.
	Processes []Process
	// Devices are the GPUs with what they hold; Elsewhere is held for pids that
	// are no process here.
	Devices   []Device
	Elsewhere []Elsewhere
	Totals    probe.Totals
	// Hidden is the number of processes whose executable and open files may
	// not be seen: what drivers tell by those files is unknown for them.
	Hidden int
	// Unlisted is set when the system lists only our own processes; how many
	// others there are is not known.
	Unlisted bool
	// Kernel is the number of threads of the kernel, which are not listed.
	Kernel   int
	Warnings []string
}

// State is what a process does now, in a word.
type State string

// The states.
const (
	Running      State = "running"
	Sleeping     State = "sleeping"
	Waiting      State = "waiting" // for a device, not to be interrupted
	Stopped      State = "stopped"
	Zombie       State = "zombie" // has ended, its parent has not asked how
	StateUnknown State = "unknown"
)

// Process is one process. Strings that are not known are empty, numbers are
// Unknown.
type Process struct {
	PID, Parent int
	Session     int    // the PID of its session's leader, 0 where that is not known
	Start       int64  // as in probe.Identity
	Name        string // the system's short name
	Executable  string // path, as the process sees it
	// Deleted is set when the executable is no longer what stands under its
	// path: the program was updated while it ran.
	Deleted bool
	Version Version
	Command []string // at most 4 KiB of it, secrets masked as in Name and Executable
	UID     int      // effective; Unknown where there is none
	Owner   string   // the user's name, else the number
	Age     time.Duration
	CPU     time.Duration // user and system time of all its threads
	State   State
	Threads int
	Memory  probe.Memory
	// Hidden is set when the executable and the open files may not be seen; on
	// macOS when the memory may not be read.
	Hidden bool
	// Tooling is what its environment or its bundle switches on that makes memory
	// grow without a leak. It is told on macOS, of our own processes.
	Tooling []apple.Tool
	// GPU is what each device holds for it. GPUUnknown is set when that is
	// not, or not all, known; else an empty GPU means that none holds any.
	GPU        []Charge
	GPUUnknown bool
}

// Footprint is the process's footprint, else its resident size.
func (p *Process) Footprint() int64 {
	if p.Memory.Footprint != Unknown {
		return p.Memory.Footprint
	}
	return p.Memory.RSS
}

// GPUBytes is what all devices hold for the process, as far as that is told: with
// GPUUnknown there may be more. It is Unknown when nobody tells anything.
func (p *Process) GPUBytes() int64 {
	total, known := int64(0), !p.GPUUnknown && len(p.GPU) == 0
	for _, c := range p.GPU {
		b := c.Bytes()
		if b != Unknown {
			total, known = total+b, true
		}
	}
	if !known {
		return Unknown
	}
	return total
}

// Elsewhere is memory that a device holds for a pid which is no process here.
type Elsewhere struct {
	Charge
	// Namespace is set when the pid may be one of another pid namespace (a
	// container's, or the host's seen from a container); else the process is
	// gone and the driver still holds its memory. Candidates are the processes
	// here that have the pid in an inner namespace.
	Namespace  bool
	Candidates []int
}

// ErrNoProcess is for a pid that is no process. ThreadError is for one that is
// a thread of a process.
var ErrNoProcess = errors.New("no such process")

// ThreadError says whose thread a pid is. Of is 0 for threads of the kernel.
type ThreadError struct {
	PID, Of int
	Name    string // the process's
}

func (e *ThreadError) Error() string {
	if e.Of == 0 {
		return fmt.Sprintf("%d is a thread of the kernel (%s): it has no memory of its own", e.PID,
			secret.Text(e.Name))
	}
	return fmt.Sprintf("%d is a thread of process %d (%s)", e.PID, e.Of, secret.Text(e.Name))
}

// Read looks at the machine. With Options.PIDs the error is ErrNoProcess or a
// *ThreadError for the first of them that is no process; otherwise it is for a
// machine whose processes cannot be listed at all. When ctx is done drivers
// that do not answer are given up.
func Read(ctx context.Context, o Options) (*Scan, error) {
	s := &Scan{At: time.Now()}
	if err := s.readProcesses(o); err != nil {
		return nil, err
	}
	s.mask()
	var err error
	if s.Totals, err = machine(o.Root).ReadTotals(0); err != nil {
		s.Warnings = append(s.Warnings, err.Error())
	}
	s.charge(ctx, o)
	slices.SortFunc(s.Processes, func(a, b Process) int {
		return cmp.Or(cmp.Compare(b.Footprint(), a.Footprint()), cmp.Compare(a.PID, b.PID))
	})
	s.Elapsed = time.Since(s.At)
	return s, nil
}

// One looks at one process, without its GPU bytes. Errors are as with Read.
func One(root string, pid int) (Process, error) {
	var s Scan
	if err := s.readProcesses(Options{Root: root, PIDs: []int{pid}}); err != nil {
		return Process{}, err
	}
	s.mask()
	return s.Processes[0], nil
}

// mask masks whatever looks like a secret in what processes say of themselves.
// Nobody sees a process before.
func (s *Scan) mask() {
	for i := range s.Processes {
		p := &s.Processes[i]
		p.Command = secret.Args(p.Command)
		p.Name, p.Executable = secret.Text(p.Name), secret.Text(p.Executable)
	}
}

// Zombies are the processes that have ended and that nobody has asked for.
func (s *Scan) Zombies() []Process {
	var list []Process
	for _, p := range s.Processes {
		if p.State == Zombie {
			list = append(list, p)
		}
	}
	return list
}
