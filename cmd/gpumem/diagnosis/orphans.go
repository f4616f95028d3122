package diagnosis

import (
	"fmt"

	"github.com/gpumem/gpumem/cmd/gpumem/naming"
	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/probe/scan"
)

// Who becomes the parent of processes whose own has ended: the first process, or the
// user's manager of services.
const (
	initPID = 1
	manager = "systemd"
)

// orphans are the processes that hold GPU memory although who started them has gone:
// their parent and the leader of their session have ended. Services have a session of
// their own, and are none. Where not all processes are listed nobody can tell.
func orphans(s *scan.Scan) []scan.Process {
	if s.Unlisted {
		return nil
	}
	names := make(map[int]string, len(s.Processes))
	for i := range s.Processes {
		names[s.Processes[i].PID] = s.Processes[i].Name
	}
	return pick(s, func(p *scan.Process) bool {
		_, led := names[p.Session]
		return p.GPUBytes() > 0 && (p.Parent == initPID || names[p.Parent] == manager) &&
			p.Session > initPID && p.Session != p.PID && !led
	})
}

// leftText is an orphan with what it holds, in a line.
func leftText(p *scan.Process) string {
	return fmt.Sprintf("left behind: PID %d (%s) holds %s of GPU memory, and whoever started it has ended; "+
		"if nobody needs it: kill %d", p.PID, naming.Program(p), plain.Size(p.GPUBytes()), p.PID)
}

// leftBehind says which processes hold GPU memory although who started them has gone.
func (t *page) leftBehind() {
	const most = 10
	list := orphans(t.d.Scan)
	for i := range list[:min(len(list), most)] {
		plain.Wrap(&t.b, "  ", "    ", leftText(&list[i]))
	}
	if more := len(list) - most; more > 0 {
		t.line("  left behind: %s more", units.Counted(more, "process", "processes"))
	}
}
