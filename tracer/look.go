package tracer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/tracer/agent"
	"github.com/gpumem/gpumem/tracer/record"
	"github.com/gpumem/gpumem/tracer/sample"
)

const (
	// lookComes is how long an agent may take to come in: who looks once does not
	// wait for long.
	lookComes = 3 * time.Second
	// lookBound is how long it may take to look.
	lookBound = 10 * time.Second
)

// Looked is what a process holds at one moment. What is not known is empty.
type Looked struct {
	At time.Time
	// Cells are the columns of a row: the system's, the driver's and the agent's.
	Cells []record.Cell
	// Hello is what the agent says of the program, nil without one.
	Hello *agent.Hello
	// Held is what the agent knows of what is held; nil when none looked.
	Held *agent.Held
	// Outside says why no agent looked, empty where one did or none was to come.
	Outside string
	// Stopped is how long the process stood still, 0 where it was not stopped; Stays what
	// could not be taken out.
	Stopped time.Duration
	Stays   []string
	// Warnings say what could not be learnt.
	Warnings []string
}

// LookConfig says how to look.
type LookConfig struct {
	// Enter brings an agent in, as Config.Enter does; nil looks from outside only.
	Enter func(pid int, server *agent.Server) (*Entered, error)
	// GPU tells what devices hold; nil asks nobody. The caller closes it.
	GPU probe.Reader
}

// Look says what a process holds now, and leaves nothing behind: no recording, no
// agent. It takes about a second, and at most some. The error is for a process that is
// not there (probe.ErrExited) or may not be read.
func Look(ctx context.Context, pid int, cfg LookConfig) (seen Looked, err error) {
	defer recovered("look", &err)
	clock := agent.NewClock()
	s := sample.New(sample.Options{Now: clock.Now, Interval: time.Second, GPU: cfg.GPU})
	p, err := s.Open(pid)
	if err != nil {
		return seen, fmt.Errorf("look: %w", err)
	}
	defer p.Close()
	// Before the agent, which needs some memory of its own.
	host, err := p.Row(clock.Now(), nil)
	if err != nil {
		return seen, fmt.Errorf("look: %w", err)
	}
	l := &looker{pid: pid, spoke: make(chan struct{}), dones: make(chan agent.Done, 4),
		gone: make(chan struct{})}
	if cfg.Enter != nil {
		l.inside(ctx, cfg.Enter, &seen)
	}
	// The driver is asked right after the agent, so that both speak of one moment.
	if cfg.GPU != nil {
		if err := s.Ask([]int{pid}); err != nil {
			seen.Warnings = append(seen.Warnings, err.Error())
		}
	}
	seen.At = time.Now()
	row, _ := p.Row(clock.Now(), nil) // it may have ended meanwhile; what it told stays
	for _, c := range row {
		if strings.HasPrefix(c.Column, record.ColGPU) {
			host = append(host, c)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	seen.Hello, seen.Cells = l.hello, append(host, l.cells...)
	seen.Warnings = append(seen.Warnings, l.warnings...)
	return seen, nil
}

// looker is the other end of an agent that comes in for one look.
type looker struct {
	pid    int
	marked func(*agent.Mark) // takes marks that are no warnings; nil: nobody does
	spoke  chan struct{}     // closed at the hello
	gone   chan struct{}     // closed at the end of its connection
	dones  chan agent.Done
	once   sync.Once
	over   sync.Once

	mu       sync.Mutex
	conn     *agent.Conn
	hello    *agent.Hello
	refused  string
	cells    []record.Cell // the last sample
	warnings []string
}

// Message takes a line of the agent. Other processes with an agent of ours are none of
// its business.
func (l *looker) Message(c *agent.Conn, m *agent.Message) {
	if c.PID() != l.pid {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case m.Hello != nil && m.Hello.Refused != "":
		l.refused = clip(m.Hello.Refused)
		l.once.Do(func() { close(l.spoke) })
	case m.Hello != nil:
		l.conn = c
		l.greet(*m.Hello)
		l.once.Do(func() { close(l.spoke) })
	case m.Sample != nil:
		l.cells = slices.DeleteFunc(slices.Clone(m.Sample.Cells), func(c record.Cell) bool {
			return strings.HasPrefix(c.Column, record.ColGPU) // measured here
		})
	case m.Mark != nil && m.Mark.Kind == record.KindWarning:
		l.warnings = append(l.warnings, clip(m.Mark.Name))
	case m.Mark != nil && l.marked != nil:
		l.marked(m.Mark)
	case m.Done != nil:
		select {
		case l.dones <- *m.Done:
		default: // answers that nobody asked for
		}
	}
}

// greet keeps what the hellos say: the first names the program, later ones the device.
func (l *looker) greet(h agent.Hello) {
	if l.hello == nil {
		l.hello = &h
		return
	}
	if h.Device != "" {
		l.hello.Device = h.Device
	}
	if h.CapacityBytes > 0 {
		l.hello.CapacityBytes = h.CapacityBytes
	}
	if h.UnifiedMemory != nil {
		l.hello.UnifiedMemory = h.UnifiedMemory
	}
}

// Gone takes the end of the connection.
func (l *looker) Gone(c *agent.Conn, _ error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c == l.conn {
		l.over.Do(func() { close(l.gone) })
	}
}

// Refused takes the end of a connection that was none.
func (l *looker) Refused(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.warnings = append(l.warnings, err.Error())
}

// inside has an agent come in, look, and leave.
func (l *looker) inside(ctx context.Context, enter func(int, *agent.Server) (*Entered, error),
	seen *Looked) {
	server, err := agent.ListenFor(l, 0, l.pid)
	if err != nil {
		seen.Outside = err.Error()
		return
	}
	defer server.Close()
	entered, err := enter(l.pid, server)
	if err != nil {
		seen.Outside = err.Error()
		return
	}
	if entered == nil {
		return // it is no program that an agent of ours could be in
	}
	seen.Stopped = entered.Stopped
	if !l.comes(ctx) {
		seen.Outside = entered.Waits() + entered.stays()
		return
	}
	if err := entered.Free(); err != nil {
		seen.Warnings = append(seen.Warnings, err.Error())
	}
	l.mu.Lock()
	conn, refused := l.conn, l.refused
	l.mu.Unlock()
	if conn == nil {
		seen.Outside = refused
		return
	}
	seen.Held, err = l.held(ctx, conn)
	if err != nil {
		seen.Outside = err.Error()
	}
	if done, err := l.ask(context.WithoutCancel(ctx), conn, agent.ActionLeave, leaveBound); err == nil {
		seen.Stays = staysOf(done)
	}
}

// comes waits for the agent's first word.
func (l *looker) comes(ctx context.Context) bool {
	timer := time.NewTimer(lookComes)
	defer timer.Stop()
	select {
	case <-l.spoke:
		return true
	case <-ctx.Done():
	case <-timer.C:
	}
	return false
}

// held has the agent look.
func (l *looker) held(ctx context.Context, conn *agent.Conn) (*agent.Held, error) {
	done, err := l.ask(ctx, conn, agent.ActionLook, lookBound)
	if err != nil {
		return nil, err
	}
	if done.Error != "" {
		return nil, errors.New("the agent could not look: " + clip(done.Error))
	}
	held := &agent.Held{}
	if err := json.Unmarshal(done.Detail, held); err != nil {
		return nil, fmt.Errorf("what the agent saw cannot be read: %w", err)
	}
	return held, nil
}

// ask has the agent do an action.
func (l *looker) ask(ctx context.Context, conn *agent.Conn, action string, bound time.Duration) (agent.Done,
	error) {
	id, err := conn.Do(action)
	if err != nil {
		return agent.Done{}, err
	}
	timer := time.NewTimer(bound)
	defer timer.Stop()
	for {
		select {
		case done := <-l.dones:
			if done.ID == id {
				return done, nil
			}
		case <-l.gone:
			return agent.Done{}, errors.New("the program has ended, or the agent left it")
		case <-ctx.Done():
			return agent.Done{}, ctx.Err()
		case <-timer.C:
			return agent.Done{}, fmt.Errorf("the agent did not answer %s within %v", action, bound)
		}
	}
}
