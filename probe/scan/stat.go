package scan

import (
	"time"

	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/probe/procfs"
)

// takeStat takes over what stat tells; uptime is Unknown when not told.
func (p *Process) takeStat(s *procfs.Stat, uptime time.Duration) {
	p.Name, p.Parent, p.Threads, p.Start = string(s.Name), s.Parent, s.Threads, s.Start
	p.Session = s.Session
	p.CPU, p.State = s.CPU, stateOf(s.State)
	if uptime >= 0 {
		// A start beyond any uptime is a number of no meaning.
		started := time.Duration(min(s.Start, int64(uptime/procfs.Tick))) * procfs.Tick
		p.Age = max(uptime-started, 0)
	}
}

// takeStatus takes memory and user over.
func (p *Process) takeStatus(s *procfs.Status) {
	p.UID = s.UID
	p.Memory = probe.Memory{
		RSS: s.RSS, Anon: s.Anon, File: s.File, Shmem: s.Shmem, Swap: s.Swap, Footprint: s.Footprint(),
		Peak: Unknown, Dirty: Unknown, Code: Unknown, Threads: s.Threads, Reserved: s.Reserved,
	}
}

// stateOf puts the kernel's letter into a word.
func stateOf(letter byte) State {
	switch letter {
	case 'R':
		return Running
	case 'S', 'I', 'P':
		return Sleeping
	case 'D', 'K', 'W':
		return Waiting
	case 'T', 't':
		return Stopped
	case 'Z', 'X', 'x':
		return Zombie
	}
	return StateUnknown
}
