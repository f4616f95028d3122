package series

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

func TestEventsFoundByProcessAreThoseThatASearchFinds(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		all := make([]record.Event, r.IntN(40))
		for i := range all {
			// Times do not ascend, as in a file that somebody edited.
			all[i] = record.Event{PID: r.IntN(4), TMs: float64(r.IntN(20)) * 1000}
		}
		x := Indexed(all)
		for pid := range 5 {
			var want, got []int
			for i, e := range all {
				if e.PID == 0 || pid == 0 || e.PID == pid {
					want = append(want, i)
				}
			}
			for i, e := range x.About(pid) {
				if e != &all[i] {
					t.Fatalf("event %d is another one", i)
				}
				got = append(got, i)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("of %d: %v, want %v of %+v", pid, got, want, all)
			}
			passesInOrder(t, x, pid, want)
		}
	}
}

// passesInOrder goes through the events second by second: one that stands behind a later
// one waits for it, whosever that is.
func passesInOrder(t *testing.T, x *Events, pid int, want []int) {
	t.Helper()
	c, k := x.from(pid), 0
	for at := -1.; at < 21; at++ {
		for e := c.upTo(at); e != nil; e = c.upTo(at) {
			if e != &x.all[want[k]] {
				t.Fatalf("of %d: another event at %v", pid, at)
			}
			k++
		}
		latest := math.Inf(-1)
		for i, n := 0, 0; n <= k && n < len(want); i++ {
			latest = math.Max(latest, x.all[i].TMs/1000)
			if i == want[n] {
				n++
			}
		}
		if k < len(want) && latest <= at {
			t.Fatalf("of %d: the event at %v s was held back at %v", pid, latest, at)
		}
	}
	if k != len(want) {
		t.Fatalf("of %d: %d of %d events passed", pid, k, len(want))
	}
}
