package metrics

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/gpumem/gpumem/report/verdict"
)

// MostProcesses is how many processes are told apart by default: a host with 8
// GPUs and 20 processes each has 160.
const MostProcesses = 200

// Process is one process on one device. Its numbers are those of one moment.
type Process struct {
	PID    int
	Name   string // of the executable, may be empty
	Device string // may be empty
	// Bytes by account; an account that is not known is not there.
	Bytes map[verdict.Account]int64
	Count *int64 // live buffers or tensors, nil unknown
	// Verdict is the last one on the process, nil when there is none yet.
	Verdict *verdict.Verdict
	Dead    bool // its memory is still held, but there is no such process
}

// Sampling is how well the numbers are taken: rows of processes that were
// taken, that should have come and did not, and lines that were not printed in
// time. Nil is unknown.
type Sampling struct {
	Samples           uint64
	Missed, LostLines *uint64
}

// Source has the numbers. Its methods are called for each scrape, maybe by
// several at once.
type Source interface {
	Processes() []Process
	Sampling() Sampling
}

// other is the pid label of all processes beyond the bound.
const other = "other"

// row is a process, or the rest, by its labels.
type row struct {
	pid, name, device string
	Process
}

// bounded keeps the largest processes and adds up the others by device. A
// verdict belongs to one process, so the rest has none; it is dead when all of
// it is.
func bounded(list []Process, most int) []row {
	list = slices.Clone(list)
	totals := map[int]int64{}
	for _, p := range list {
		totals[p.PID] += p.size()
	}
	slices.SortFunc(list, func(a, b Process) int {
		return cmp.Or(cmp.Compare(totals[b.PID], totals[a.PID]), cmp.Compare(a.PID, b.PID),
			cmp.Compare(a.Device, b.Device))
	})
	var out []row
	kept, rest := map[int]bool{}, map[string]*row{}
	for _, p := range list {
		if !kept[p.PID] && len(kept) < most {
			kept[p.PID] = true
		}
		if kept[p.PID] {
			out = append(out, row{strconv.Itoa(p.PID), p.Name, p.Device, p})
			continue
		}
		r := rest[p.Device]
		if r == nil {
			r = &row{pid: other, name: other, device: p.Device,
				Process: Process{Bytes: map[verdict.Account]int64{}, Dead: true}}
			rest[p.Device] = r
		}
		r.add(p)
	}
	devices := make([]string, 0, len(rest))
	for d := range rest {
		devices = append(devices, d)
	}
	slices.Sort(devices)
	for _, d := range devices {
		out = append(out, *rest[d])
	}
	return out
}

func (r *row) add(p Process) {
	for a, v := range p.Bytes {
		r.Bytes[a] += v
	}
	if p.Count != nil {
		sum := *p.Count
		if r.Count != nil {
			sum += *r.Count
		}
		r.Count = &sum
	}
	r.Dead = r.Dead && p.Dead
}

func (p *Process) size() (sum int64) {
	for _, v := range p.Bytes {
		sum += v
	}
	return sum
}
