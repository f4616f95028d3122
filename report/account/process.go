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
	last := main
	if pid == nil {
		last = 0
	}
	ids := map[int]int32{} // places in pids and counts
	of, counts := make([]int32, n), []int(nil)
	for i := range n {
		if pid != nil && pid[i] >= 0 && pid[i] < 1<<31 {
			last = int(pid[i])
		}
		id, known := ids[last]
		if !known {
			id = int32(len(pids))
			ids[last], pids, counts = id, append(pids, last), append(counts, 0)
		}
		of[i] = id
		counts[id]++
	}
	rows = shared(pids, counts, of)
	if pid == nil && n == 0 {
		pids, rows[0] = []int{0}, nil
	}
	slices.Sort(pids)
	return pids, rows
}

// shared are the rows of each process: of tells for each row its process by its place in
// pids, and counts how many rows that has.
func shared(pids, counts []int, of []int32) map[int][]int {
	all, lists := make([]int, len(of)), make([][]int, len(pids))
	for id, n := range counts {
		lists[id], all = all[:0:n], all[n:]
	}
	for i, id := range of {
		lists[id] = append(lists[id], i)
	}
	rows := make(map[int][]int, len(pids))
	for id, p := range pids {
		rows[p] = lists[id]
	}
	return rows
}
