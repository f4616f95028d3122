package tracer

import (
	"sync/atomic"
	"time"
)

const (
	// costlyFrom is the number of processes from which sampling them may be too dear;
	// fewer cost next to nothing, however long a busy machine keeps us waiting.
	costlyFrom = 16
	// mostShare is the part of a core that sampling many processes may take.
	mostShare = .05
	// slowest is the longest interval that many processes lead to.
	slowest = 2 * time.Second
	// calmLag is how late agents are read while nothing moves.
	calmLag = 200 * time.Millisecond
)

// beat says how often the timer ticks: at the full rate while something moves or what is
// captured has to be taken in, else at the calm one. Its methods are safe for
// concurrent use.
type beat struct {
	full, calm time.Duration
	now        *atomic.Int64 // the interval, ns
	late       *atomic.Int64 // how much later agents are read than usual, ns
	hurried    chan struct{} // ends a calm wait
	work       *average
}

func newBeat(cfg Config) beat {
	b := beat{full: cfg.Interval, calm: max(cfg.Calm, cfg.Interval), now: new(atomic.Int64),
		late: new(atomic.Int64), hurried: make(chan struct{}, 1), work: &average{}}
	b.now.Store(int64(b.full))
	return b
}

// interval is the one of now.
func (b *beat) interval() time.Duration { return time.Duration(b.now.Load()) }

// slack is how much later than usual an agent's line may be read by now, in
// nanoseconds.
func (b *beat) slack() int64 { return b.late.Load() }

// adapts reports whether there is more than one rate.
func (b *beat) adapts() bool { return b.calm > b.full }

// hurry makes the next tick come at once, if a calm wait is under way.
func (b *beat) hurry() {
	if b.interval() != b.calm || !b.adapts() {
		return
	}
	select {
	case b.hurried <- struct{}{}:
	default:
	}
}

// isDue reports whether a process has its row at the tick of a time. The lock is held.
func (b *beat) isDue(f *followed, now int64) bool {
	if !b.adapts() || !f.calm.Is(now) {
		return true
	}
	// A tick may come a little early; half an interval later there is another.
	return now-f.lastRow >= int64(b.calm-b.full/2)
}

// nextInterval is the time to the next tick after one that took so long. It has agents
// read later while nothing moves.
func (s *attempt) nextInterval(took time.Duration) time.Duration {
	b := &s.beat
	if !b.adapts() {
		return b.full
	}
	calm, captured, processes := s.isCalm()
	interval := b.full
	if calm && !captured {
		interval = b.calm
	}
	if work := b.work.add(took); processes >= costlyFrom {
		interval = min(max(interval, time.Duration(float64(work)/mostShare)), max(slowest, b.full))
	}
	b.now.Store(int64(interval))
	if interval < b.calm { // it ticks soon enough
		select {
		case <-b.hurried:
		default:
		}
	}
	late := time.Duration(0)
	if usual := readLag(b.full); calm && usual > 0 {
		late = max(min(calmLag, b.calm)-usual, 0)
	}
	if b.late.Swap(int64(late)) != int64(late) && s.server != nil {
		s.server.SetLag(readLag(b.full) + late)
	}
	return interval
}

// isCalm reports whether nothing moves in any process, and whether calls of the driver
// are captured: those wait in a ring that a slow reader lets overflow.
func (s *attempt) isCalm() (calm, captured bool, processes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	calm = true
	for _, f := range s.procs {
		calm = calm && f.calm.Is(now)
		captured = captured || f.more != nil
	}
	return calm, captured, len(s.procs)
}

// average is the mean time of the last ticks.
type average struct {
	last [16]time.Duration
	n    int
}

// add takes a tick's time and returns the mean.
func (a *average) add(took time.Duration) time.Duration {
	a.last[a.n%len(a.last)] = took
	a.n++
	n, sum := min(a.n, len(a.last)), time.Duration(0)
	for _, t := range a.last[:n] {
		sum += t
	}
	return sum / time.Duration(n)
}
