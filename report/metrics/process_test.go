package metrics

import (
	"testing"

	"github.com/gpumem/gpumem/report/verdict"
)

func TestTheSmallestProcessesAreAddedUpAndNoByteIsLost(t *testing.T) {
	t.Parallel()
	list := host{gpus: 2, processes: 10}.Processes()
	list = append(list, Process{PID: 1020, Device: "0",
		Bytes: map[verdict.Account]int64{verdict.Live: 1}}) // a second device of the largest
	for _, most := range []int{0, 1, 5, 20, 100} {
		rows := bounded(list, most)
		sum, pids := map[verdict.Account]int64{}, map[string]bool{}
		for _, r := range rows {
			pids[r.pid] = true
			for a, v := range r.Bytes {
				sum[a] += v
			}
			if r.pid == other && (r.Verdict != nil || r.Dead) {
				t.Errorf("at most %d: the rest has a verdict or is dead", most)
			}
		}
		want := map[verdict.Account]int64{}
		for _, p := range list {
			for a, v := range p.Bytes {
				want[a] += v
			}
		}
		for a := range want {
			if sum[a] != want[a] {
				t.Errorf("at most %d: %d bytes of %s, want %d", most, sum[a], a, want[a])
			}
		}
		if n := len(pids); n != min(most, 20)+map[bool]int{true: 1}[most < 20] {
			t.Errorf("at most %d: %d pids", most, n)
		}
		if most == 1 && (len(rows) != 4 || rows[0].pid != "1020") {
			t.Errorf("the largest alone: %d rows, first %s", len(rows), rows[0].pid)
		}
	}
}
