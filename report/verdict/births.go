package verdict

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gpumem/gpumem/tracer/record"
)

// startedBy is the line of the program that started each process, as the parents told it.
func startedBy(events []record.Event) map[int]string {
	at := map[int]string{}
	for i := range events {
		e := &events[i]
		if e.Kind != record.KindChild || e.At == "" {
			continue
		}
		var child struct {
			PID int `json:"pid"`
		}
		if json.Unmarshal(e.Detail, &child) == nil && child.PID > 0 {
			at[child.PID] = e.At
		}
	}
	return at
}

// sameOrigin are those of some workers that the line started which started all of the
// others; none where these have more lines than one, or one is not known.
func sameOrigin(some, others []worker, events []record.Event) []worker {
	at := startedBy(events)
	site := at[others[0].pid]
	for _, w := range others {
		if site == "" || at[w.pid] != site {
			return nil
		}
	}
	return slices.DeleteFunc(some, func(w worker) bool { return at[w.pid] != site })
}

// startedAt is the line of the program that started most of the workers, with how many of
// them where it is not all; empty where nobody told.
func startedAt(left []worker, events []record.Event) string {
	at := startedBy(events)
	count, best := map[string]int{}, ""
	for _, w := range left {
		site := at[w.pid]
		if site == "" {
			continue
		}
		count[site]++
		if n := count[site] - count[best]; best == "" || n > 0 || n == 0 && site < best {
			best = site
		}
	}
	if best == "" || count[best] == len(left) {
		return best
	}
	return fmt.Sprintf("%s (%d of them)", best, count[best])
}
