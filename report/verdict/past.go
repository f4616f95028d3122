package verdict

import (
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/tracer/record"
)

// callsTellNot says why what the driver's calls alone tell is not to be believed of a process
// of which a library is known to have made some that nobody recorded: that nothing grows,
// where the driver tells no total either, and that what is untracked is the driver's own.
// Empty of any other.
func callsTellNot(s *settled) string {
	switch {
	case !callsPast(&s.Examined.Process):
		return ""
	case s.class == None && !s.Judged.Book.GPU:
		return "a library of the program calls the driver past gpumem, and nothing else tells what the " +
			"device holds for it; try --inject=audit"
	case s.class == DriverGrowth && s.primary == series.Untracked:
		return "device memory grows, and a library of the program calls the driver past gpumem, so that " +
			"nothing tells whose it is; try --inject=audit"
	}
	return ""
}

// callsPast reports whether a library of the process calls the driver past the capture.
func callsPast(p *series.Process) bool {
	for _, e := range p.Events.About(p.PID) {
		if e.Kind == record.KindWarning && e.Name == record.WarningPast {
			return true
		}
	}
	return false
}
