package peak

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/tracer/record"
)

// hostMemory reports an exception that is about the host's memory, not a device's.
func hostMemory(name, text string) bool {
	if name == "builtins.MemoryError" || strings.HasPrefix(name, "numpy.") {
		return true
	}
	lower := strings.ToLower(text)
	return strings.Contains(lower, "defaultcpuallocator") || strings.Contains(lower, "errno 12]")
}

// byHost answers a program to which the system refused host memory.
func (s *seen) byHost(o *OOM, run *record.Run, g Growth) {
	const refusal = `(?i)(?:tried to allocate|unable to allocate|allocating)\s+([0-9][0-9,.]*)\s*`
	asked, ok := sizeAfter(s.text, refusal)
	more := "more host memory"
	if ok {
		o.AskedBytes, more = &asked, units.Bytes(asked)+" more of host memory"
	}
	where := ""
	if o.Site != "" {
		where = " at " + short(o.Site)
	}
	machine, held := machineMemory(run), hostHeld(run, s.pid)
	const most = .99 // of the mappings: some are kept for what ends the program
	d := &s.death
	switch {
	case d.MappingsLimit > 0 && float64(d.Mappings) >= most*float64(d.MappingsLimit):
		o.Reason = Limit
		o.Sentence = fmt.Sprintf("it had %s mappings of memory, and the system allows %s "+
			"(vm.max_map_count): it was refused %s%s, although there was enough.", units.Count(d.Mappings),
			units.Count(d.MappingsLimit), more, where)
	case ok && machine > 0 && asked > machine:
		o.Reason = Request
		o.Sentence = fmt.Sprintf("it asked for %s of host memory at once%s, and the machine has %s.",
			units.Bytes(asked), where, units.Bytes(machine))
	case g.Sure && g.Claim != "" && !(held > 0 && asked > held/2): // one large request ends no growth
		o.Reason = Growing
		o.Sentence = fmt.Sprintf("it grew until it was refused %s%s%s.", more, where, grownText(g, ": "))
	case held > 0 && machine > 0:
		o.Reason = Host
		o.Sentence = fmt.Sprintf("it held %s and was refused %s%s; the machine has %s.", units.Bytes(held),
			more, where, units.Bytes(machine))
		if space := s.spaceText(s.pid); space != "" {
			o.Sentence = fmt.Sprintf("it held %s and was refused %s%s: %s.", units.Bytes(held), more, where,
				space)
			s.saveSpace(o)
		} else if float64(held)+float64(asked) < .8*float64(machine) {
			o.Sentence = strings.TrimSuffix(o.Sentence, ".") + ", so that its own limit (ulimit -v), its " +
				"container's, or what others hold stands in the way."
		}
	default:
		o.Reason, o.Sentence = Host, "host memory ran out: "+firstLine(s.text)
	}
}

// byKernel answers a program that the kernel killed, or a process of, with what it held
// when it was seen last and with the limit of its control group, as far as they are known.
func (s *seen) byKernel(o *OOM, run *record.Run, g Growth) {
	d, _ := record.DetailOf[record.Killed](s.killed)
	o.Reason, o.AtMs, o.PID, o.Site = Killed, s.killed.TMs, s.killed.PID, ""
	who, held := "the program", cmp.Or(d.Held, hostHeld(run, 0))
	if d.Held > 0 { // a process of several
		who = fmt.Sprintf("process %d", s.killed.PID)
		if d.Name != "" {
			who += " (" + d.Name + ")"
		}
	}
	text := "the kernel killed " + who + " because host memory ran out"
	if held > 0 {
		text += ", when it held about " + units.Bytes(held)
	}
	if limit := run.Meta.CapacityBytes[record.LimitCgroup]; limit > 0 {
		o.LimitBytes = &limit
		text += "; its control group may have " + units.Bytes(limit)
	} else {
		text += ": its control group, or the machine, was at its limit"
	}
	o.Sentence = text + grownText(g, "; ") + "."
}

// grownText is the sure growth behind a separator, empty without one.
func grownText(g Growth, separator string) string {
	if !g.Sure || g.Claim == "" {
		return ""
	}
	return separator + strings.TrimSuffix(g.Claim, ".")
}

// machineMemory is what the machine has, 0 for unknown.
func machineMemory(run *record.Run) int64 {
	if run.Meta.Machine == nil || run.Meta.Machine.MemoryBytes == nil {
		return 0
	}
	return *run.Meta.Machine.MemoryBytes
}

// hostHeld is the most host memory that a process was seen to hold, 0 for unknown.
func hostHeld(run *record.Run, pid int) (most int64) {
	if run.Samples == nil {
		return 0
	}
	pids := run.Samples.Column(record.ColPID)
	for _, name := range [...]string{record.ColFootprint, record.ColRSS} {
		for i, v := range run.Samples.Column(name) {
			if pids != nil && i < len(pids) && !record.IsUnknown(pids[i]) && pid != 0 && int(pids[i]) != pid {
				continue
			}
			if !record.IsUnknown(v) {
				most = max(most, int64(v))
			}
		}
		if most > 0 {
			return most
		}
	}
	return most
}
