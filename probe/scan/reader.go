package scan

import (
	"cmp"
	"errors"
	"slices"

	"github.com/gpumem/gpumem/probe"
)

// Reader is a reader of all sources together, with the numbers of their devices
// that Devices has.
//
// What it tells of a process is whole: a process of which one source no longer
// tells what it told before is left out, since a part is no total, and so is one
// with a charge of unknown bytes. A process that a source holds nothing for is
// left out until it once did; then it is charged with 0. An error is told once
// for as long as it lasts: what can be read in spite of it is there, also with
// the error.
func (s *Sources) Reader() probe.Reader {
	r := &merged{members: s.members, held: map[held]last{}, unknown: map[int]bool{},
		index: map[onDevice]int{}}
	for _, m := range s.members {
		r.readers = append(r.readers, m.source.Reader())
	}
	r.failing = make([]string, len(r.readers))
	return r
}

// onDevice is a process on a device of the list of all; held is that as one
// source tells it.
type (
	onDevice struct{ pid, device int }
	held     struct{ pid, member, device int }
)

// last is the round in which a source last charged a process, and what it would
// have charged for nothing: 0 of those kinds of memory that it told.
type last struct {
	round   uint64
	nothing Charge
}

func nothingLike(c Charge) Charge {
	return Charge{PID: c.PID, Device: c.Device, LocalBytes: min(c.LocalBytes, 0),
		HostBytes: min(c.HostBytes, 0)}
}

// merged puts the sources' readers together.
type merged struct {
	members []member
	readers []probe.Reader
	failing []string // what each said of its last error
	round   uint64
	held    map[held]last
	unknown map[int]bool // processes of which something is not told
	index   map[onDevice]int
	raw     []Charge
}

func (r *merged) Read(pids []int, dst []Charge) ([]Charge, error) {
	r.round++
	clear(r.unknown)
	clear(r.index)
	r.forget(pids)
	start := len(dst)
	var failed []error
	for i := range r.readers {
		var err error
		if dst, err = r.ask(i, pids, dst, start); err != nil {
			failed = append(failed, err)
		}
	}
	kept := slices.DeleteFunc(dst[start:], func(c Charge) bool { return r.unknown[c.PID] })
	slices.SortFunc(kept, func(a, b Charge) int {
		return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.Device, b.Device))
	})
	return dst[:start+len(kept)], errors.Join(failed...)
}

// ask asks one source and merges what it charges into dst from start on.
func (r *merged) ask(i int, pids []int, dst []Charge, start int) ([]Charge, error) {
	var err error
	if r.raw, err = r.readers[i].Read(pids, r.raw[:0]); err == nil {
		r.failing[i] = ""
	}
	silent := map[int]bool(nil)
	for _, c := range r.raw {
		at, ok := r.members[i].place(c.Device)
		switch {
		case c.Device == probe.AnyDevice:
			if silent == nil {
				silent = map[int]bool{}
			}
			silent[c.PID] = true
		case !ok:
		case c.Bytes() == Unknown:
			r.unknown[c.PID] = true
		default:
			c.Device = at.index
			r.held[held{c.PID, i, at.index}] = last{r.round, nothingLike(c)}
			dst = r.merge(c, dst, start)
		}
	}
	for h, before := range r.held {
		switch {
		case h.member != i || before.round == r.round:
		case silent[h.pid]:
			r.unknown[h.pid] = true
		default:
			dst = r.merge(before.nothing, dst, start)
		}
	}
	return dst, r.tell(i, err)
}

// merge puts a charge to those of the sources before.
func (r *merged) merge(c Charge, dst []Charge, start int) []Charge {
	key := onDevice{c.PID, c.Device}
	if k, known := r.index[key]; known {
		dst[start+k] = dst[start+k].Merge(c)
		return dst
	}
	r.index[key] = len(dst) - start
	return append(dst, c)
}

// forget drops the processes that are not asked for any more: a later one may
// have their pid.
func (r *merged) forget(pids []int) {
	for h := range r.held {
		if !slices.Contains(pids, h.pid) {
			delete(r.held, h)
		}
	}
}

// tell is the error of a source, nil when it is the same as last time.
func (r *merged) tell(i int, err error) error {
	if err == nil || err.Error() == r.failing[i] {
		return nil
	}
	r.failing[i] = err.Error()
	return err
}

func (r *merged) Close() {
	for _, one := range r.readers {
		one.Close()
	}
}
