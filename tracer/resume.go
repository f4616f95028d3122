package tracer

import (
	"fmt"
	"time"

	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/tracer/record"
)

// folder makes the run folder, or takes up the one that was left. startNs is when the
// run began, on the clock of its rows, and began the same by the system's.
func (c *Config) folder(startNs *int64) (out *record.Writer, began time.Time, err error) {
	o := record.CreateOptions{Force: c.Force, Keep: c.Keep}
	if !c.Resume {
		meta := c.beginMeta(time.Now(), *startNs)
		out, err = record.Create(c.Out, meta, o)
		return out, meta.Start, err
	}
	now := *startNs
	out, err = record.Resume(c.Out, func(m *record.Meta) error {
		if err := c.resumable(m, now); err != nil {
			return err
		}
		*startNs, began = m.StartNanos, m.Start
		m.IntervalMs = float64(c.Interval) / float64(time.Millisecond)
		return nil
	}, o)
	return out, began, err
}

// resumable refuses a run that is not of the process to be recorded.
func (c *Config) resumable(m *record.Meta, now int64) error {
	if m.PID != c.pid {
		return fmt.Errorf("resume %s: it is of process %d, not of %d; record into another folder with --out",
			c.Out, m.PID, c.pid)
	}
	p, err := probe.Open(c.pid)
	if err != nil {
		return fmt.Errorf("resume %s: %w", c.Out, err)
	}
	defer p.Close()
	if m.PIDStart == 0 || m.StartNanos <= 0 {
		return fmt.Errorf("resume %s: it does not tell which process it is of; record into another folder "+
			"with --out", c.Out)
	}
	if m.PIDStart != p.Identity().Start || m.StartNanos > now {
		return fmt.Errorf("resume %s: it is of an earlier process %d, which has ended; record into another "+
			"folder with --out", c.Out, c.pid)
	}
	return nil
}

// tellBreak notes in a run that is resumed that it was.
func (s *attempt) tellBreak() {
	if !s.cfg.Resume {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.eventLocked(record.Event{TMs: s.millis(s.clock.Now()), PID: s.cfg.pid, Kind: record.KindEvent,
		Name: "recording resumed", Text: "the recorder had ended; nothing is known of the time until now"})
}
