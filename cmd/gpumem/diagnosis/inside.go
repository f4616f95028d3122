package diagnosis

import (
	"os"
	"slices"
	"time"

	"github.com/gpumem/gpumem/probe/scan"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// Agents are agents in processes that are watched, as tracer.Visits are.
type Agents interface {
	// Join has an agent come into a process. It does not wait for it.
	Join(pid int)
	// Cells are what the agent of a process told last.
	Cells(pid int) []record.Cell
	// Leave has all leave, and returns what stays in the programs.
	Leave() []string
}

// OpenAgents has nobody visited yet. event takes what agents find, say a line about a
// process; both are called from several goroutines.
type OpenAgents func(event func(record.Event), say func(pid int, text string)) Agents

// enter has agents come into the processes that were chosen, else into those that use
// a GPU: into others nobody asked for one.
func (w *watching) enter(s *scan.Scan, o WatchOptions, start time.Time) {
	if o.Agents == nil {
		return
	}
	w.agents = o.Agents(func(e record.Event) {
		e.TMs = float64(time.Since(start).Microseconds()) / 1000
		w.mu.Lock()
		defer w.mu.Unlock()
		w.live.Event(e)
	}, func(_ int, text string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.warn(text)
	})
	for i := range s.Processes {
		p := &s.Processes[i]
		if one := w.of[p.PID]; one != nil && p.PID != os.Getpid() && (o.Chosen || len(p.GPU) > 0) {
			one.inside = true
			w.agents.Join(p.PID)
		}
	}
}

// told are the columns that an agent tells of a process.
func (w *watching) told(pid int) []record.Cell {
	if w.agents == nil || !w.of[pid].inside {
		return nil
	}
	return slices.DeleteFunc(w.agents.Cells(pid), func(c record.Cell) bool {
		return slices.Contains(watchNames(), c.Column) // measured here
	})
}

// leave has the agents leave.
func (w *watching) leave() {
	if w.agents == nil {
		return
	}
	for _, what := range w.agents.Leave() {
		w.mu.Lock()
		w.warn("the agents have left the programs; still in one: " + what)
		w.mu.Unlock()
	}
}

// insideVerdict is the verdict on a process that grows, by what its agent told too; the
// alarm's where that says no more.
func (w *watching) insideVerdict(o *observed) *verdict.Verdict {
	if !o.inside {
		return o.live.Alarm
	}
	v := verdict.Judge(w.live.Run(o.live), verdict.Options{})
	if v.Verdict == verdict.None || v.Verdict == verdict.Undecided {
		return o.live.Alarm
	}
	o.answer, o.next = v.Answer, v.Next
	return v
}
