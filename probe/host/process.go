package host

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/shirou/gopsutil/v3/mem"
	"github.com/shirou/gopsutil/v3/process"

	"github.com/gpumem/gpumem/internal/secret"
	"github.com/gpumem/gpumem/probe/procfs"
)

// Process is what is known of a process beyond its memory, secrets masked.
type Process struct {
	Owner      string
	Command    []string
	Started    time.Time
	Parent     int    // 0 when not told
	ParentName string // the program of the parent
	// OpenFiles is how many descriptors it has open, Unknown when not told, as
	// of other users' processes.
	OpenFiles int64
	// Cgroup is the path of its control group, on Linux; of several hierarchies
	// that of memory's.
	Cgroup string
}

// About asks for what is known of a process; nothing is of one that is not
// there.
func About(ctx context.Context, pid int) Process {
	p := Process{OpenFiles: Unknown}
	ps, err := find(ctx, pid)
	if err != nil {
		return p
	}
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	var b batch
	b.ask(func() func() {
		name, err := ps.UsernameWithContext(ctx)
		return when(err, func() { p.Owner = name })
	})
	b.ask(func() func() {
		words, err := ps.CmdlineSliceWithContext(ctx)
		return when(err, func() { p.Command = secret.Args(words) })
	})
	b.ask(func() func() {
		ms, err := ps.CreateTimeWithContext(ctx)
		return when(err, func() {
			if ms > 0 {
				p.Started = time.UnixMilli(ms).UTC()
			}
		})
	})
	b.ask(func() func() {
		parent, name, err := parentOf(ctx, ps)
		return when(err, func() { p.Parent, p.ParentName = parent, secret.Text(name) })
	})
	b.ask(func() func() {
		n, err := ps.NumFDsWithContext(ctx)
		return when(err, func() { p.OpenFiles = int64(n) })
	})
	b.wait(ctx)
	if runtime.GOOS == "linux" {
		p.Cgroup = secret.Text(cgroupOf(pid))
	}
	return p
}

// parentOf is the parent with its name, which may have gone.
func parentOf(ctx context.Context, ps *process.Process) (int, string, error) {
	parent, err := ps.PpidWithContext(ctx)
	if err != nil {
		return 0, "", err
	}
	of, err := find(ctx, int(parent))
	if err != nil {
		return int(parent), "", nil
	}
	name, _ := of.NameWithContext(ctx) // unknown is empty
	return int(parent), name, nil
}

func find(ctx context.Context, pid int) (*process.Process, error) {
	if pid <= 0 || pid > 1<<31-1 {
		return nil, fmt.Errorf("process %d: %w", pid, process.ErrorProcessNotRunning)
	}
	return process.NewProcessWithContext(ctx, int32(pid))
}

// cgroupOf is the group whose limits count: that with the memory controller, or
// version 2's only one.
func cgroupOf(pid int) string {
	b, err := procfs.Dir("").Read(pid, "cgroup")
	if err != nil {
		return ""
	}
	path := ""
	for _, g := range procfs.ParseCgroups(b) {
		for _, c := range g.Controllers {
			if c == "memory" {
				return g.Path
			}
		}
		if g.Hierarchy == 0 {
			path = g.Path
		}
	}
	return path
}

// RSS is the resident size of a process as gopsutil reads it, in bytes.
func RSS(ctx context.Context, pid int) (int64, error) {
	ps, err := find(ctx, pid)
	if err != nil {
		return Unknown, fmt.Errorf("read the memory of process %d: %w", pid, err)
	}
	info, err := ps.MemoryInfoWithContext(ctx)
	if err != nil {
		return Unknown, fmt.Errorf("read the memory of process %d: %w", pid, err)
	}
	if info.RSS == 0 {
		return Unknown, fmt.Errorf("read the memory of process %d: gopsutil gives no resident size", pid)
	}
	return known(info.RSS), nil
}

// Memory is the memory of the machine as gopsutil reads it, in bytes.
func Memory(ctx context.Context) (int64, error) {
	v, err := mem.VirtualMemoryWithContext(ctx)
	if err != nil {
		return Unknown, fmt.Errorf("read the memory of the machine: %w", err)
	}
	return known(v.Total), nil
}
