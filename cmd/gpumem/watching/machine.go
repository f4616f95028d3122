package watching

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/gpumem/gpumem/cmd/gpumem/naming"
	"github.com/gpumem/gpumem/probe/scan"
	"github.com/gpumem/gpumem/tui"
)

// machine is what the screen is told of the machine beside the memory of its
// processes. Its methods are safe for concurrent use.
type machine struct {
	feed    *tui.Feed
	sources *scan.Sources

	mu   sync.Mutex
	seen map[int]seenProcess
}

// seenProcess is a process as the last scan found it.
type seenProcess struct {
	start int64
	cpu   time.Duration
	at    time.Time
	share float64 // of a core; NaN when unknown
}

func newMachine(feed *tui.Feed, sources *scan.Sources) *machine {
	return &machine{feed: feed, sources: sources, seen: map[int]seenProcess{}}
}

// scanned takes what a scan found: whose the processes are, what runs in them and
// what they use of the processor.
func (m *machine) scanned(s *scan.Scan) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := make(map[int]seenProcess, len(s.Processes))
	for i := range s.Processes {
		p := &s.Processes[i]
		next := seenProcess{p.Start, p.CPU, s.At, cpuShare(m.seen[p.PID], p, s.At)}
		now[p.PID] = next
		m.feed.Describe(p.PID, tui.Facts{User: p.Owner, Command: naming.Command(p), CPU: next.share})
	}
	m.seen = now
}

// cpuShare is the share of a core that a process used since it was seen before, or,
// when it is new, in its whole life.
func cpuShare(before seenProcess, p *scan.Process, at time.Time) float64 {
	used, span := p.CPU, p.Age
	if before.start == p.Start && !before.at.IsZero() && before.cpu >= 0 {
		used, span = p.CPU-before.cpu, at.Sub(before.at)
	}
	if p.CPU < 0 || used < 0 || span <= 0 {
		return math.NaN()
	}
	return used.Seconds() / span.Seconds()
}

// vitalsEvery is how often devices are asked how they are.
const vitalsEvery = time.Second

// run tells the devices until ctx is done. It has a goroutine of its own: a driver
// that does not answer must not hold up the rows.
func (m *machine) run(ctx context.Context) {
	if !m.sources.Here() {
		return
	}
	ticker := time.NewTicker(vitalsEvery)
	defer ticker.Stop()
	for {
		m.feed.SetDevices(m.devices(ctx))
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (m *machine) devices(ctx context.Context) []tui.Device {
	var list []tui.Device
	vitals := m.sources.Vitals(ctx)
	for i, d := range m.sources.Devices(ctx) {
		v := vitals[i]
		list = append(list, tui.Device{
			Name: cmp.Or(d.Name, d.PCI, d.Driver), Used: told(d.UsedBytes, 1), Total: told(d.TotalBytes, 1),
			Busy: told(v.BusyPercent, 100), Celsius: told(v.Celsius, 1), Watts: told(v.Milliwatts, 1000),
			LimitWatts: told(v.LimitMilliwatts, 1000), MHz: told(v.MHz, 1), MemoryMHz: told(v.MemoryMHz, 1),
		})
	}
	return list
}

// told is a figure in another unit, NaN when nobody told it.
func told(n int64, unit float64) float64 {
	if n == scan.Unknown {
		return math.NaN()
	}
	return float64(n) / unit
}

// terminate asks a process to end, if it still is the one that was on the screen.
func (m *machine) terminate(pid int) error {
	m.mu.Lock()
	before, ok := m.seen[pid]
	m.mu.Unlock()
	// Where the system has handles for processes, this one stays the same process
	// whatever becomes of its PID.
	p, err := os.FindProcess(pid)
	if err != nil {
		return fmt.Errorf("PID %d: %w", pid, err)
	}
	defer p.Release() //nolint:errcheck // a handle that cannot be given back changes nothing
	now, err := scan.One("", pid)
	switch {
	case errors.Is(err, scan.ErrNoProcess) || err == nil && now.State == scan.Zombie:
		return fmt.Errorf("PID %d has ended already", pid)
	case err != nil:
		return err
	case !ok || now.Start != before.start:
		return fmt.Errorf("PID %d is another process by now: nothing was sent", pid)
	}
	err = p.Signal(syscall.SIGTERM)
	if errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("PID %d belongs to %s: only they and root may end it", pid, now.Owner)
	}
	if err != nil {
		return fmt.Errorf("PID %d: %w", pid, err)
	}
	return nil
}
