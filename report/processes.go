package report

import (
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// ofVerdict is the run as the verdict saw it: of a run with several processes
// the rows of the one that it is about. Charts and sums then speak of the same
// process as the table. A row without a pid belongs to the process before it.
func ofVerdict(run *record.Run, v *verdict.Verdict) *record.Run {
	pid := run.Samples.Column(record.ColPID)
	if lo, hi := rangeOf(pid); v.PID == 0 || !(hi > lo) {
		return run
	}
	keep := make([]int, 0, len(pid))
	last := record.Unknown()
	for i, p := range pid {
		if !record.IsUnknown(p) {
			last = p
		}
		if last == float64(v.PID) {
			keep = append(keep, i)
		}
	}
	names := run.Samples.Names()
	cols := make([][]float64, len(names))
	for c, name := range names {
		in := run.Samples.Column(name)
		cols[c] = make([]float64, len(keep))
		for k, i := range keep {
			cols[c][k] = in[i]
		}
	}
	one := *run
	one.Samples = record.NewSamples(names, cols)
	return &one
}
