package watching

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/gpumem/gpumem/cmd/gpumem/injection"
	"github.com/gpumem/gpumem/tracer"
	"github.com/gpumem/gpumem/tracer/record"
)

// enteredRows hands rows on, with what agents in the processes tell.
type enteredRows struct {
	taker
	err    io.Writer
	agents *tracer.Visits
	chosen bool // the processes were named; else those that use a GPU are entered
}

// entering has agents come into the processes whose rows come, where that is asked for.
// What they say is an event; where no screen shows those it goes to stderr, too.
func (o *Options) entering(rows taker, seen bool) taker {
	if o.Inject == "" || o.Inject == injection.Nobody {
		return rows
	}
	start := time.Now()
	r := &enteredRows{taker: rows, err: o.Err, chosen: len(o.PIDs) > 0}
	tell := func(e record.Event) {
		e.TMs = float64(time.Since(start).Microseconds()) / 1000
		rows.Event(e)
	}
	say := func(pid int, text string) {
		tell(record.Event{PID: pid, Kind: record.KindEvent, Name: text})
		if !seen {
			fmt.Fprintf(o.Err, "gpumem: warning: %s\n", text)
		}
	}
	r.agents = injection.Visiting(o.Err, false, o.Inject,
		max(o.Interval/2, injection.AgentInterval), tell, say)
	return r
}

// Name hears of a process that is watched from now on.
func (r *enteredRows) Name(pid int, name string) {
	r.taker.Name(pid, name)
	if r.chosen {
		r.agents.Join(pid)
	}
}

// Row adds what the agent told to what the system tells.
func (r *enteredRows) Row(pid int, tMs float64, cells []record.Cell) {
	known := map[string]bool{}
	for _, c := range cells {
		known[c.Column] = true
		if !r.chosen && strings.HasPrefix(c.Column, record.ColGPU) && c.Value > 0 {
			r.agents.Join(pid)
		}
	}
	for _, c := range r.agents.Cells(pid) {
		if !known[c.Column] {
			cells = append(cells, c)
		}
	}
	r.taker.Row(pid, tMs, cells)
}

// leave has the agents leave, and says what stays.
func (r *enteredRows) leave() {
	injection.TellStays(r.err, r.agents.Leave())
}
