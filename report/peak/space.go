package peak

import (
	"fmt"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/tracer/record"
)

// fullSpace is the part of its address space with which a program that fails is taken for
// one that was refused more.
const fullSpace = .9

// noteSpace takes in how much of its address space a process had.
func (s *seen) noteSpace(e *record.Event) {
	d, ok := record.DetailOf[record.AddressSpace](e)
	if e.Name != record.EventAddressSpace || !ok || !s.noteAddresses(e.PID, d) {
		return
	}
	if float64(d.Peak) >= fullSpace*float64(d.Limit) {
		s.crowded = e
	}
}

// noteAddresses takes in what a process had of its address space, if it has a limit. What
// it told last counts.
func (s *seen) noteAddresses(pid int, d record.AddressSpace) bool {
	if d.Limit <= 0 || d.Peak <= 0 {
		return false
	}
	if s.spaces == nil {
		s.spaces = map[int]record.AddressSpace{}
	}
	s.spaces[pid] = d
	return true
}

// isCrowdedOut: the program failed without a word, a process of it near its limit of
// address space. Of an exception that ended it the exception tells.
func (s *seen) isCrowdedOut(run *record.Run) bool {
	return s.crowded != nil && failed(run) && !s.raised && (run.Meta.ExitCode != nil || run.Meta.Signal != "")
}

// bySpace answers a native program, of which nobody tells what it was refused.
func (s *seen) bySpace(o *OOM, run *record.Run, g Growth) {
	d := s.spaces[s.crowded.PID]
	o.Reason, o.PID, o.AtMs, o.LimitBytes = Host, s.crowded.PID, s.crowded.TMs, &d.Limit
	grown := ""
	if g.Sure && g.Class == "host-growth" {
		o.Reason, grown = Growing, grownText(g, "; ")
	}
	how := "failed"
	if run.Meta.Signal != "" {
		how = "ended by " + run.Meta.Signal
	}
	o.Sentence = fmt.Sprintf("it %s when its address space had come to %s of the %s that it may have "+
		"(ulimit -v), so that it was probably refused more%s.", how, units.Bytes(d.Peak),
		units.Bytes(d.Limit), grown)
}

// saveSpace says how much higher the limit of address space had to be for the request.
func (s *seen) saveSpace(o *OOM) {
	d := s.spaces[s.pid]
	const step = 1 << 20 // limits are set in round numbers
	if o.AskedBytes == nil || *o.AskedBytes <= d.Limit-d.Peak {
		return // what is missing is not known
	}
	missing := (*o.AskedBytes - (d.Limit - d.Peak) + step - 1) / step * step
	save := wouldSave("a limit of address space that is "+units.Bytes(missing)+" higher", missing, ptr(true))
	o.LimitBytes, o.Saves = &d.Limit, append(o.Saves, save)
	o.Sentence += " " + save.Text()
}

// spaceText says what of its address space a process had, behind a separator; empty
// where it has no limit.
func (s *seen) spaceText(pid int) string {
	d, ok := s.spaces[pid]
	if !ok {
		return ""
	}
	return fmt.Sprintf("its address space may have %s (ulimit -v), and had come to %s", units.Bytes(d.Limit),
		units.Bytes(d.Peak))
}
