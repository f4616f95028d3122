package verdict

import (
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// withoutCalls takes back what the driver's calls alone tell, where a library of the
// process is known to have made some that nobody recorded: that nothing grows, where the
// driver tells no total either, and that what is untracked is the driver's own.
func withoutCalls(s *settled) {
	quiet := s.class == None && !s.judged.book.GPU
	if !quiet && !(s.class == DriverGrowth && s.primary == keyUntracked) || !s.callsPast() {
		return
	}
	why := "a library of the program calls the driver past gpumem, and nothing else tells what the device " +
		"holds for it; try --inject=audit"
	if !quiet {
		s.grow[keyUntracked].Shape = trend.ShapeUndecided
		why = "device memory grows, and a library of the program calls the driver past gpumem, so that " +
			"nothing tells whose it is; try --inject=audit"
	}
	s.decision = decision{class: Undecided, primary: keys, notes: s.notes, lacking: true, why: why}
}

// callsPast reports whether a library of the process calls the driver past the capture.
func (p *process) callsPast() bool {
	for _, e := range p.events.about(p.pid) {
		if e.Kind == record.KindWarning && e.Name == record.WarningPast {
			return true
		}
	}
	return false
}
