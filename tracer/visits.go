package tracer

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gpumem/gpumem/tracer/agent"
	"github.com/gpumem/gpumem/tracer/record"
)

// VisitConfig says how agents come into processes that are only watched.
type VisitConfig struct {
	// Enter brings an agent in, as Config.Enter does.
	Enter func(pid int, server *agent.Server) (*Entered, error)
	// Event takes what agents find: holders, each time they look. Its time is not set. It
	// is called from several goroutines.
	Event func(record.Event)
	// Say takes a line about a process: that it is watched from outside only, and why. It
	// is called from several goroutines.
	Say func(pid int, text string)
}

// Visits are agents in processes that are watched, but not recorded. Its methods may be
// called from several goroutines; a nil one has no agents.
type Visits struct {
	cfg  VisitConfig
	done chan struct{}
	all  sync.WaitGroup

	mu    sync.Mutex
	of    map[int]*visit
	stays []string
}

// visit is the agent in one process.
type visit struct {
	*looker
	visits *Visits
}

// NewVisits has nobody visited yet.
func NewVisits(cfg VisitConfig) *Visits {
	return &Visits{cfg: cfg, done: make(chan struct{}), of: map[int]*visit{}}
}

// Join has an agent come into a process, once. It does not wait for it.
func (v *Visits) Join(pid int) {
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, known := v.of[pid]; known {
		return
	}
	one := &visit{visits: v, looker: &looker{pid: pid, spoke: make(chan struct{}),
		dones: make(chan agent.Done, 4), gone: make(chan struct{})}}
	one.marked = one.mark
	v.of[pid] = one
	v.all.Go(one.stay)
}

// Cells are what the agent of a process told last; nil where none is in it. The caller
// owns the slice.
func (v *Visits) Cells(pid int) []record.Cell {
	if v == nil {
		return nil
	}
	v.mu.Lock()
	one := v.of[pid]
	v.mu.Unlock()
	if one == nil {
		return nil
	}
	select {
	case <-one.gone:
		return nil
	default:
	}
	one.looker.mu.Lock()
	defer one.looker.mu.Unlock()
	return slices.Clone(one.cells)
}

// Leave asks the agents once more who holds what and has them leave. It returns when
// they have, or take too long, with what stays in the programs, in words.
func (v *Visits) Leave() []string {
	if v == nil {
		return nil
	}
	close(v.done)
	v.all.Wait()
	v.mu.Lock()
	defer v.mu.Unlock()
	slices.Sort(v.stays)
	return slices.Compact(v.stays)
}

// mark takes what the agent tells by itself.
func (o *visit) mark(m *agent.Mark) {
	if m.Kind == record.KindHolders {
		o.tell(m.Detail)
	}
}

// tell hands holders on.
func (o *visit) tell(detail json.RawMessage) {
	var list struct {
		Holders []record.Holder `json:"holders"`
	}
	if json.Unmarshal(detail, &list) == nil {
		o.visits.cfg.Event(record.Event{PID: o.pid, Kind: record.KindHolders, Holders: list.Holders})
	}
}

// say says a line about the process.
func (o *visit) say(text string) {
	o.visits.cfg.Say(o.pid, fmt.Sprintf("process %d: %s", o.pid, clip(text)))
}

// stay brings the agent in, waits for the end, and has it leave.
func (o *visit) stay() {
	server, err := agent.ListenFor(o, 0, o.pid)
	if err != nil {
		o.say(outside + err.Error())
		return
	}
	defer server.Close()
	entered, err := o.visits.cfg.Enter(o.pid, server)
	switch {
	case err != nil:
		o.visits.cfg.Say(o.pid, outside+clip(err.Error())) // it names the process
		return
	case entered == nil:
		return // it is no program that an agent of ours could be in
	case !o.arrives(entered):
		return
	}
	o.looker.mu.Lock()
	conn, refused := o.conn, o.refused
	o.looker.mu.Unlock()
	if conn == nil {
		o.say(outside + refused)
		return
	}
	select {
	case <-o.gone:
		return
	case <-o.visits.done:
	}
	ctx := context.Background()
	if done, err := o.ask(ctx, conn, agent.ActionHolders, listBound); err == nil && done.Error == "" {
		o.tell(done.Detail)
	}
	if done, err := o.ask(ctx, conn, agent.ActionLeave, leaveBound); err == nil {
		o.visits.mu.Lock()
		o.visits.stays = append(o.visits.stays, staysOf(done)...)
		o.visits.mu.Unlock()
	}
}

// arrives waits for the agent's first word, until the end if need be.
func (o *visit) arrives(entered *Entered) bool {
	late := time.NewTimer(comeBound)
	defer late.Stop()
	for {
		select {
		case <-o.spoke:
			if err := entered.Free(); err != nil {
				o.say(err.Error())
			}
			return true
		case <-late.C:
			o.say(fmt.Sprintf("the agent is not in the program %v after it was sent: %s", comeBound,
				entered.Waits()))
		case <-o.visits.done:
			select {
			case <-o.spoke:
				continue
			case <-time.After(lateBound):
			}
			o.say("the agent never came in: " + entered.Waits() + entered.stays())
			return false
		}
	}
}
