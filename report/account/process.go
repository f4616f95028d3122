package account

import (
	"slices"

	"github.com/gpumem/gpumem/tracer/record"
)

// ByPID lists the processes of a recording in ascending order with their rows, which
// ascend. A recording without pids is of process 0. A row without a pid belongs to
// the process of the row before, the first ones to the traced program, main.
func ByPID(s *record.Samples, main int) (pids []int, rows map[int][]int) {
	pid, n := Column(s, record.ColPID), s.Len()
	rows = map[int][]int{}
	last := main
	if pid == nil {
		last = 0
	}
	for i := range n {
		if pid != nil && pid[i] >= 0 && pid[i] < 1<<31 {
			last = int(pid[i])
		}
		rows[last] = append(rows[last], i)
	}
	for p := range rows {
		pids = append(pids, p)
	}
	if pid == nil && n == 0 {
		pids, rows[0] = []int{0}, nil
	}
	slices.Sort(pids)
	return pids, rows
}
