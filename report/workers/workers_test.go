package workers

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// lives are workers that were born and died at these seconds.
func lives(of ...[2]float64) []worker {
	var list []worker
	for i, life := range of {
		list = append(list, worker{pid: 200 + i, born: life[0], died: life[1], held: 64 << 20})
	}
	return list
}

// startedAtLine are events that say that these processes were started by one line.
func startedAtLine(pids ...int) []record.Event {
	var events []record.Event
	for _, pid := range pids {
		events = append(events, record.Event{Kind: record.KindChild, At: "serve.py:42 spawn",
			Detail: json.RawMessage(fmt.Sprintf(`{"pid":%d}`, pid))})
	}
	return events
}

func TestWorkersRemainThatCameAgainAndAgainAndAreThereAtTheEnd(t *testing.T) {
	t.Parallel()
	early := lives([2]float64{2, 60}, [2]float64{5, 60}, [2]float64{30, 60}, [2]float64{40, 60})
	for name, c := range map[string]struct {
		list   []worker
		events []record.Event
		want   int
		over   float64
	}{
		"one each ten seconds": {lives([2]float64{16, 60}, [2]float64{26, 60}, [2]float64{36, 60}, [2]float64{46, 60}),
			nil, 4, 45},
		"of which one ended": {lives([2]float64{16, 60}, [2]float64{26, 60}, [2]float64{36, 60}, [2]float64{46, 60},
			[2]float64{50, 52}), nil, 4, 45},
		"of which most ended": {lives([2]float64{16, 60}, [2]float64{26, 40}, [2]float64{36, 45}, [2]float64{46, 60}),
			nil, 0, 0},
		"all at once": {lives([2]float64{36, 60}, [2]float64{36.1, 60}, [2]float64{36.2, 60}, [2]float64{36.3, 60}),
			nil, 0, 0},
		"none in the second half": {lives([2]float64{16, 60}, [2]float64{18, 60}, [2]float64{20, 60}, [2]float64{22, 60}),
			nil, 0, 0},
		"the first two by an unknown line": {early, nil, 0, 0},
		"the first two by the same line":   {early, startedAtLine(200, 201, 202, 203), 4, 60},
		"the first two by another line":    {early, startedAtLine(202, 203), 0, 0},
		"nobody":                           {nil, nil, 0, 0},
	} {
		got, over := remaining(c.list, 0, 60, c.events)
		if len(got) < leastWorkers {
			got, over = nil, 0
		}
		if len(got) != c.want || over != c.over {
			t.Errorf("%s: %d workers in %g s, want %d in %g", name, len(got), over, c.want, c.over)
		}
	}
}
