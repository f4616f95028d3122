package tracer

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gpumem/gpumem/tracer/agent"
	"github.com/gpumem/gpumem/tracer/record"
)

const (
	// comeBound is how long an agent that was brought in may be silent before its
	// user is told why: a program in Python comes to it within milliseconds.
	comeBound = 5 * time.Second
	// leaveBound is how long an agent may take to leave.
	leaveBound = 5 * time.Second
	// lateBound is how long an agent on its way is awaited when the recording ends.
	lateBound = 2 * time.Second
	// maxStays bounds what an agent may say of what stays.
	maxStays = 20
)

// outside begins what is said of a process that no agent is in.
const outside = "looking from outside only: "

// entrance is an agent on its way into the process. heard and refusedLocked are called
// with the recording's lock held.
type entrance struct {
	spoke   chan struct{} // closed when the agent has spoken, well or not
	settled chan struct{} // closed when nobody is on the way any more
	once    sync.Once
}

// heard takes note of a hello.
func (e *entrance) heard(isMain bool) {
	if isMain {
		e.once.Do(func() { close(e.spoke) })
	}
}

// refusedLocked takes note that an agent that was brought in does not work there. The
// lock is held.
func (r *recording) refusedLocked(pid int, why string) {
	r.warnLocked(outside + clip(why))
	r.entered.heard(pid == r.main)
}

// listenFor makes the socket for agents of a process that runs, and brings one in as
// soon as the process is recorded.
func (s *attempt) listenFor(pid int) {
	server, err := agent.ListenFor(listener{r: s.recording, concludes: &s.concludes},
		readLag(s.cfg.Interval), pid)
	if err != nil {
		s.warn(outside + err.Error())
		return
	}
	s.server = server
	s.loop(func() { s.enter(pid) })
}

// enter brings the agent in, and says why when it does not come.
func (s *attempt) enter(pid int) {
	defer close(s.entered.settled)
	entered, err := s.cfg.Enter(pid, s.server)
	if err != nil {
		s.warn(outside + err.Error())
		return
	}
	if entered == nil {
		return // it is no program that an agent of ours could be in
	}
	timer := time.NewTimer(comeBound)
	defer timer.Stop()
	for {
		select {
		case <-s.entered.spoke:
			s.arrived(pid, entered)
			return
		case <-timer.C:
			s.warn(fmt.Sprintf("the agent is still not in the program %v after it was sent: %s", comeBound,
				entered.Waits()))
		case <-s.done:
			select {
			case <-s.entered.spoke:
				s.arrived(pid, entered)
				return
			default:
			}
			s.warn("the agent never came in: " + entered.Waits() + entered.stays())
			return
		}
	}
}

// awaitEntrance waits for an agent that was sent and has not spoken: one that comes takes
// its text out again, and one that stays away leaves it in the program.
func (s *attempt) awaitEntrance() {
	timer := time.NewTimer(lateBound)
	defer timer.Stop()
	select {
	case <-s.entered.settled:
	case <-s.gone:
	case <-timer.C:
	}
}

// arrived notes that the agent has come.
func (s *attempt) arrived(pid int, entered *Entered) {
	if err := entered.Free(); err != nil {
		s.warn(err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.heard[pid] {
		return
	}
	s.eventLocked(record.Event{TMs: s.millis(s.clock.Now()), PID: pid, Kind: record.KindEvent,
		Name: "entered", Text: entered.text()})
}

// text says how the agent came in.
func (e *Entered) text() string {
	if e.Stopped == 0 {
		return "the agent came in by Python's own interface for debuggers; the program was not stopped"
	}
	return fmt.Sprintf("the agent came in; the program stood still for %.1f ms",
		float64(e.Stopped)/float64(time.Millisecond))
}

// stays withdraws an agent that has not come in. It says what stays of it, behind
// other words.
func (e *Entered) stays() string {
	if e.Withdraw() {
		return "; nothing of it stays in the program"
	}
	return "; its text stays in the program, and will do nothing when it runs"
}

// depart asks the agents that were brought in for what they know, and has them leave.
func (s *attempt) depart() {
	if s.server == nil {
		return
	}
	s.awaitEntrance()
	if s.mainGone() {
		s.server.Drain(drainBound)
	}
	var all sync.WaitGroup
	for _, c := range s.guests() {
		all.Go(func() { s.guard(func() { s.dismiss(c) }) })
	}
	all.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.result.Stays)
	s.result.Stays = slices.Compact(s.result.Stays)
}

// guests are the agents that may be asked to leave.
func (s *attempt) guests() []*connected {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*connected
	for _, c := range s.agents {
		if c.offersAction(agent.ActionLeave) && !c.isOver {
			c.isOver = true
			list = append(list, c)
		}
	}
	return list
}

// dismiss takes leave of one agent.
func (s *attempt) dismiss(c *connected) {
	f := s.followedBy(c)
	if s.cfg.Purge {
		s.experiments(c, f)
	}
	for _, action := range [...]string{agent.ActionSites, agent.ActionHolders} {
		if !s.offers(c, action) {
			continue
		}
		if done, ok := s.ask(c, action, listBound); ok && done.Error == "" {
			s.survivors(f, action, done)
		}
	}
	done, ok := s.ask(c, agent.ActionLeave, leaveBound)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.result.Stays = append(s.result.Stays, staysOf(done)...)
}

// staysOf is what an agent that left could not take out.
func staysOf(done agent.Done) []string {
	var detail struct {
		Stays []string `json:"stays"`
	}
	if json.Unmarshal(done.Detail, &detail) != nil {
		return nil
	}
	for i, text := range detail.Stays {
		detail.Stays[i] = clip(text)
	}
	return detail.Stays[:min(len(detail.Stays), maxStays)]
}

func (s *attempt) followedBy(c *connected) *followed {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.follow(c.conn.PID())
}
