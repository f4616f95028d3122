package workers

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/tracer/record"
)

const (
	leastWorkers = 4        // that came late and are there at the end
	leastLate    = 2        // of these, where the line that started them did so before
	workerLeast  = 2 << 20  // that a worker holds, to count: a shell or a helper holds less
	workersLeast = 16 << 20 // that they hold together
	deviceLeast  = 16 << 20 // of the device that each is kept for, where it is no context
	lateFrom     = 1. / 4   // of the run: what comes before is how it starts
	lastFrom     = 1. / 2   // of the run: workers must still come then
	someEnd      = 1. / 4   // of the late ones that may have ended
	atTheEnd     = 1. / 12  // of the run: who was seen then was there until it wound up
	leastEnd     = 3.       // seconds, at least: workers are joined one by one
)

// worker is a process that the program started.
type worker struct {
	pid        int
	born, died float64 // seconds; died is when it was last seen
	part       account.Row
	owned      bool    // somebody tells whose the device's bytes are
	held       float64 // when it was last seen, in bytes
}

// worthCounting are those processes that hold something.
func worthCounting(all []*series.Process) []worker {
	var out []worker
	for _, p := range all {
		n := len(p.Whole.Clock)
		if n == 0 {
			continue
		}
		w := worker{pid: p.PID, born: p.Whole.Clock[0], died: p.Whole.Clock[n-1], part: p.Whole.Book.Last(),
			owned: p.Whole.Book.Owned()}
		w.held = stat.Part(w.part.Host) + stat.Part(w.part.Device)
		if w.held >= workerLeast {
			out = append(out, w)
		}
	}
	return out
}

// Find is the growth of a tree of processes by workers that nobody ends; nil where it has
// none. first is the process that was seen first, which started the others.
func Find(first *series.Process, others []*series.Process) *finding.Finding {
	if len(first.Whole.Clock) == 0 || len(others) < leastWorkers {
		return nil
	}
	begin := first.Whole.Clock[0]
	left, over := remaining(worthCounting(others), begin, lastSeen(first, others)-begin, first.Run.Events)
	if len(left) < leastWorkers {
		return nil
	}
	f := found(left, over)
	if f.Size < workersLeast {
		return nil
	}
	if name := commandOf(left, first.Events); name != "" {
		f.Why += "; their command: " + name
	}
	if at := startedAt(left, first.Run.Events); at != "" {
		f.Why += "; started at " + at
	}
	return f
}

// lastSeen is when the last row of any of the processes is of, in seconds.
func lastSeen(first *series.Process, others []*series.Process) float64 {
	end := first.Whole.Clock[len(first.Whole.Clock)-1]
	for _, p := range others {
		if n := len(p.Whole.Clock); n > 0 {
			end = math.Max(end, p.Whole.Clock[n-1])
		}
	}
	return end
}

// remaining are the workers that came late, again and again, and are still there at the end of a
// run of so many seconds from begin, and within how many seconds they came; none where
// enough of them ended, or came at once.
func remaining(list []worker, begin, length float64, events []record.Event) ([]worker, float64) {
	late, there := begin+lateFrom*length, begin+length-math.Max(leastEnd, atTheEnd*length)
	var before, left []worker
	came, latest := 0, 0.
	for _, w := range list {
		if w.born >= late {
			came++
		}
		switch {
		case w.died < there:
		case w.born < late:
			before = append(before, w)
		default:
			left = append(left, w)
			latest = math.Max(latest, w.born)
		}
	}
	if ended := came - len(left); float64(ended) > someEnd*float64(came) || latest < begin+lastFrom*length {
		return nil, 0
	}
	over := (1 - lateFrom) * length
	if len(left) >= leastLate && len(left) < leastWorkers {
		left, over = append(sameOrigin(before, left, events), left...), length
	}
	if births(left) < leastWorkers {
		return nil, 0
	}
	return left, over
}

// commandOf is the command of workers, as it was recorded: of the first one that has a
// name, with how many have others.
func commandOf(left []worker, x *series.Events) string {
	name, others := "", 0
	for _, w := range left {
		called, _ := x.Introduced(w.pid)
		called = series.Unnumbered(called)
		switch {
		case called == "" || called == name:
		case name == "":
			name = called
		default:
			others++
		}
	}
	switch {
	case others == 1:
		name += " (1 of them has another)"
	case others > 1:
		name += fmt.Sprintf(" (%d of them have another)", others)
	}
	return name
}

// births is at how many times workers came: those of a burst are one.
func births(list []worker) int {
	at := make([]float64, 0, len(list))
	for _, w := range list {
		at = append(at, w.born)
	}
	slices.Sort(at)
	const together = 1. // seconds
	n, last := 0, math.Inf(-1)
	for _, t := range at {
		if t > last+together {
			n++
		}
		last = t
	}
	return n
}

// found is the finding about workers that are left, which came in so many seconds.
func found(left []worker, over float64) *finding.Finding {
	var sum account.Row
	total := 0.
	for _, w := range left {
		sum.Idle += stat.Part(w.part.Idle)
		sum.Host += stat.Part(w.part.Host)
		if w.owned {
			sum.Live += stat.Part(w.part.Live)
			sum.Untracked += stat.Part(w.part.Untracked)
		} else {
			sum.Live += stat.Part(w.part.Device)
		}
		total += w.held
	}
	f := &finding.Finding{By: finding.ByProcesses, Of: heldBy(sum, deviceLeast*float64(len(left))), Size: total}
	f.Owner = finding.OwnerOf(f.Of)
	// Four may be chance; each further one makes it less likely by half.
	f.Score = stat.Clamp(1-.3*math.Pow(.5, float64(births(left)-leastWorkers)), 0, finding.Certain)
	f.Why = fmt.Sprintf(
		"%d processes were started one after the other in the last %s and none of them ended; they hold "+
			"%s, about %s each",
		len(left), units.Span(over), units.Bytes(total), units.Bytes(total/float64(len(left))))
	return f
}

// heldBy is the account that workers are kept for. A context of the driver and the
// memory of an interpreter come with each process: they count where nothing else is
// held.
func heldBy(sum account.Row, least float64) series.Key {
	switch {
	case sum.Live >= least:
		return series.Live
	case sum.Idle >= least:
		return series.Idle
	case sum.Untracked > sum.Host:
		return series.Untracked
	}
	return series.Host
}

// startedBy is the line of the program that started each process, as the parents told it.
func startedBy(events []record.Event) map[int]string {
	at := map[int]string{}
	for i := range events {
		e := &events[i]
		if e.Kind != record.KindChild || e.At == "" {
			continue
		}
		var child struct {
			PID int `json:"pid"`
		}
		if json.Unmarshal(e.Detail, &child) == nil && child.PID > 0 {
			at[child.PID] = e.At
		}
	}
	return at
}

// sameOrigin are those of some workers that the line started which started all of the
// others; none where these have more lines than one, or one is not known.
func sameOrigin(some, others []worker, events []record.Event) []worker {
	at := startedBy(events)
	site := at[others[0].pid]
	for _, w := range others {
		if site == "" || at[w.pid] != site {
			return nil
		}
	}
	return slices.DeleteFunc(some, func(w worker) bool { return at[w.pid] != site })
}

// startedAt is the line of the program that started most of the workers, with how many of
// them where it is not all; empty where nobody told.
func startedAt(left []worker, events []record.Event) string {
	at := startedBy(events)
	count, best := map[string]int{}, ""
	for _, w := range left {
		site := at[w.pid]
		if site == "" {
			continue
		}
		count[site]++
		if n := count[site] - count[best]; best == "" || n > 0 || n == 0 && site < best {
			best = site
		}
	}
	if best == "" || count[best] == len(left) {
		return best
	}
	return fmt.Sprintf("%s (%d of them)", best, count[best])
}
