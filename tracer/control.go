package tracer

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gpumem/gpumem/tracer/agent"
	"github.com/gpumem/gpumem/tracer/record"
)

// ErrNotOffered is returned by Control.Ask for an action that no connected
// agent of the run offers, and outside a run.
var ErrNotOffered = errors.New("not offered by the program")

// Control steers a run while it goes on: Config.Control takes it, for one run.
// The zero value is ready. Its methods are safe for concurrent use, also before
// the run has begun and after it has ended.
type Control struct {
	mu   sync.Mutex
	run  *attempt // nil outside a run
	left chan struct{}
	gone bool // Leave was called
}

// begin ties a control to its run; a nil control does nothing.
func (c *Control) begin(s *attempt) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run = s
}

// end unties it. What was asked before is waited for by the run.
func (c *Control) end() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run = nil
}

// leaving is closed by Leave.
func (c *Control) leaving() <-chan struct{} {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == nil {
		c.left = make(chan struct{})
		if c.gone {
			close(c.left)
		}
	}
	return c.left
}

// Leave ends the recording and leaves the program running, undisturbed. The
// run then returns with Result.Left set.
func (c *Control) Leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left != nil && !c.gone {
		close(c.left)
	}
	c.gone = true
}

// hold keeps the run from ending until release is called; ok is false outside
// a run.
func (c *Control) hold() (s *attempt, release func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.run == nil {
		return nil, nil, false
	}
	c.run.concludes.Add(1) // end takes the same lock before it waits
	return c.run, c.run.concludes.Done, true
}

// Actions are those that the agents of the run offer now, sorted.
func (c *Control) Actions() []string {
	s, release, ok := c.hold()
	if !ok {
		return nil
	}
	defer release()
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, agent := range s.agents {
		for _, action := range agent.offers {
			if !slices.Contains(out, action) {
				out = append(out, action)
			}
		}
	}
	slices.Sort(out)
	return out
}

// Ask has the program do an action now, measures what the system got back, and
// writes the outcome into the run: a receipt, or what was told. It
// takes as long as the program does. Of several agents that of the leading
// process is asked. The program runs on meanwhile: what it takes in that time
// may be in the receipt as well. The receipt is nil for an action that has none.
func (c *Control) Ask(action string) (receipt *record.Receipt, err error) {
	defer recovered(action, &err)
	s, release, ok := c.hold()
	if !ok {
		return nil, fmt.Errorf("%s: %w", action, ErrNotOffered)
	}
	defer release()
	to, f := s.offering(action)
	if to == nil {
		return nil, fmt.Errorf("%s: %w", action, ErrNotOffered)
	}
	switch action {
	case agent.ActionSites, agent.ActionHolders:
		done, ok := s.ask(to, action, listBound)
		if ok {
			s.survivors(f, action, done)
		}
		return nil, answered(action, done, ok)
	case agent.ActionSync, agent.ActionComposition:
		done, ok := s.ask(to, action, actionBound)
		return nil, answered(action, done, ok)
	}
	before, _ := s.settle(to, f)
	done, ok := s.ask(to, action, actionBound)
	if !ok {
		return nil, answered(action, done, ok)
	}
	// It takes memory again meanwhile, so the least is nearest to what the system got.
	_, after := s.settle(to, f)
	return s.receipt(f, action, done, before, after), answered(action, done, ok)
}

func answered(action string, done agent.Done, ok bool) error {
	switch {
	case !ok:
		return fmt.Errorf("%s: the program did not answer", action)
	case done.Error != "":
		return fmt.Errorf("%s: %s", action, clip(done.Error))
	}
	return nil
}

// offering is the agent to ask for an action: that of the leading process, else
// that of the lowest pid.
func (s *attempt) offering(action string) (*connected, *followed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var best *connected
	for conn, c := range s.agents {
		switch {
		case !c.offersAction(action) || s.procs[conn.PID()] == nil:
		case best == nil || conn.PID() == s.lead.pid || best.conn.PID() != s.lead.pid &&
			conn.PID() < best.conn.PID():
			best = c
		}
	}
	if best == nil {
		return nil, nil
	}
	return best, s.procs[best.conn.PID()]
}

// Mark writes an event with a name into the run, at the present.
func (c *Control) Mark(name string) (err error) {
	defer recovered("mark", &err)
	s, release, ok := c.hold()
	if !ok {
		return errors.New("mark: no run is in progress")
	}
	defer release()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.out.Event(record.Event{TMs: s.millis(s.clock.Now()), PID: s.main, Kind: record.KindEvent,
		Name: name}); err != nil {
		return fmt.Errorf("mark: %w", err)
	}
	return nil
}

// Lost tells how many ticks came too late to be taken so far, and how many rows
// could not be written.
func (c *Control) Lost() (missed, rows int64) {
	s, release, ok := c.hold()
	if !ok {
		return 0, 0
	}
	defer release()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.missed, s.out.Stats().LostRows
}

// leave says in the run that the program runs on.
func (s *attempt) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.result.Left = true
	s.eventLocked(record.Event{
		TMs: s.millis(s.clock.Now()), Kind: record.KindEvent, Name: "left",
		Text: "the recording was ended at " + time.Now().UTC().Format(time.RFC3339) + ", the program runs on",
	})
}
