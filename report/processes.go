package report

import (
	"math"
	"slices"

	"github.com/gpumem/gpumem/tracer/record"
)

// staleRows is after how many sampling intervals without a row a process
// counts as ended.
const staleRows = 5

// byProcess is the run with the rows of several processes added up: at each
// time the sum of what every living process last had. A run of one process
// comes back as it is.
func byProcess(run *record.Run) *record.Run {
	s := run.Samples
	pid, t := s.Column(record.ColPID), s.Column(record.ColTime)
	if lo, hi := rangeOf(pid); !(hi > lo) || t == nil {
		return run
	}
	gap := processGap(run, t, pid)
	names := slices.Clone(s.Names())
	in, out := make([][]float64, len(names)), make([][]float64, len(names))
	for c, name := range names {
		in[c] = s.Column(name)
	}
	sums := newProcessSums(len(names))
	for i := 0; i < len(t); {
		j := i
		for ; j < len(t) && (t[j] == t[i] || record.IsUnknown(t[j])); j++ {
			row := sums.of(pid[j])
			row.t = t[i]
			for c := range in {
				if x := in[c][j]; !record.IsUnknown(x) {
					row.v[c] = x
				}
			}
		}
		sums.dropBefore(t[i] - gap)
		for c, name := range names {
			out[c] = append(out[c], sums.total(c, name, t[i]))
		}
		i = j
	}
	sum := *run
	sum.Samples = record.NewSamples(names, out)
	return &sum
}

// processGap is the silence after which a process is taken as gone.
func processGap(run *record.Run, t, pid []float64) float64 {
	if run.Meta.IntervalMs > 0 {
		return staleRows * run.Meta.IntervalMs
	}
	var gaps []float64
	last := map[float64]float64{}
	for i := range t {
		if before, ok := last[pid[i]]; ok && t[i] > before && len(gaps) < 10000 {
			gaps = append(gaps, t[i]-before)
		}
		last[pid[i]] = t[i]
	}
	if len(gaps) == 0 {
		return math.Inf(1)
	}
	slices.Sort(gaps)
	return staleRows * gaps[len(gaps)/2]
}

// processSums are the last known values of each living process.
type processSums struct {
	columns int
	rows    []*processRow // in order of appearance
}

type processRow struct {
	pid, t float64
	v      []float64
}

func newProcessSums(columns int) *processSums { return &processSums{columns: columns} }

func (p *processSums) of(pid float64) *processRow {
	for _, r := range p.rows {
		if r.pid == pid || record.IsUnknown(pid) && record.IsUnknown(r.pid) {
			return r
		}
	}
	r := &processRow{pid: pid, v: make([]float64, p.columns)}
	for c := range r.v {
		r.v[c] = record.Unknown()
	}
	p.rows = append(p.rows, r)
	return r
}

func (p *processSums) dropBefore(t float64) {
	p.rows = slices.DeleteFunc(p.rows, func(r *processRow) bool { return r.t < t })
}

// total is the sum of column c over the living; time is the row's own, a step
// is the furthest one.
func (p *processSums) total(c int, name string, t float64) float64 {
	if name == record.ColTime {
		return t
	}
	sum := record.Unknown()
	for _, r := range p.rows {
		x := r.v[c]
		switch {
		case record.IsUnknown(x):
		case record.IsUnknown(sum):
			sum = x
		case name == record.ColStep:
			sum = max(sum, x)
		default:
			sum += x
		}
	}
	return sum
}
