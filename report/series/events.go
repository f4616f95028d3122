package series

import (
	"cmp"
	"iter"
	"math"
	"strings"

	"github.com/gpumem/gpumem/tracer/record"
)

// Events are what a run recorded, found by process: a run of weeks has a hundred thousand
// of them and tens of thousands of processes, so that none may look through all. It is
// not changed once it is made.
type Events struct {
	all     []record.Event
	of      map[int][]int32 // by PID, numbers in all; those of no PID are under 0
	reached []float64       // by number: the latest time up to there, in seconds
}

// Indexed finds the events of a run by process.
func Indexed(all []record.Event) *Events {
	all = placed(all)
	x := &Events{all: all, of: map[int][]int32{}, reached: make([]float64, len(all))}
	latest := math.Inf(-1)
	for i := range all {
		e := &all[i]
		x.of[e.PID] = append(x.of[e.PID], int32(i))
		if t := e.TMs / 1000; t != t {
			latest = math.Inf(1) // nothing comes after it that is known to be earlier
		} else {
			latest = math.Max(latest, t)
		}
		x.reached[i] = latest
	}
	return x
}

// About are the events about a process and those of no process, by their numbers, in
// order. PID 0 stands for a run of one process, which all are about.
func (x *Events) About(pid int) iter.Seq2[int, *record.Event] {
	return func(yield func(int, *record.Event) bool) {
		c := x.from(pid)
		for i := c.number(); i >= 0; i = c.number() {
			if !yield(i, &x.all[i]) {
				return
			}
			c.pass()
		}
	}
}

// Introduced is what a process is called and its rank in its job, as it was told last;
// empty and nil where nobody told.
func (x *Events) Introduced(pid int) (name string, rank *int) {
	for _, e := range x.About(pid) {
		if e.Kind == record.KindProcess && e.PID == pid {
			name, rank = cmp.Or(e.Name, name), cmp.Or(e.Rank, rank)
		}
	}
	return name, rank
}

// Unnumbered has N in the place of the number that a name ends in: of workers that are
// called Process-4 and Process-5.
func Unnumbered(name string) string {
	stem := strings.TrimRight(name, "0123456789")
	if stem == name || !strings.HasSuffix(stem, "-") {
		return name
	}
	return stem + "N"
}

// cursor goes through the events about a process.
type cursor struct {
	events      *Events
	own, shared []int32 // that are to come
	every       bool    // all events are about the process
	next        int     // of all
}

// from is a cursor at the first event about a process.
func (x *Events) from(pid int) cursor {
	if pid == 0 {
		return cursor{events: x, every: true}
	}
	return cursor{events: x, own: x.of[pid], shared: x.of[0]}
}

// ofShared reports whether the next event is one of no process.
func (c *cursor) ofShared() bool {
	return len(c.own) == 0 || len(c.shared) > 0 && c.shared[0] < c.own[0]
}

// number is that of the next event; -1 where there is none.
func (c *cursor) number() int {
	switch {
	case c.every && c.next < len(c.events.all):
		return c.next
	case len(c.own) == 0 && len(c.shared) == 0:
		return -1
	case c.ofShared():
		return int(c.shared[0])
	}
	return int(c.own[0])
}

// pass goes past the next event.
func (c *cursor) pass() {
	switch {
	case c.every:
		c.next++
	case c.ofShared():
		c.shared = c.shared[1:]
	default:
		c.own = c.own[1:]
	}
}

// upTo passes the next event and returns it; nil where that came after a time, in
// seconds, or stands behind one that did.
func (c *cursor) upTo(t float64) *record.Event {
	i := c.number()
	if i < 0 || c.events.reached[i] > t {
		return nil
	}
	c.pass()
	return &c.events.all[i]
}
