package verdict

import (
	"fmt"
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
		x := indexed(all)
		for pid := range 5 {
			var want, got []int
			for i, e := range all {
				if e.PID == 0 || pid == 0 || e.PID == pid {
					want = append(want, i)
				}
			}
			for i, e := range x.about(pid) {
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
func passesInOrder(t *testing.T, x *events, pid int, want []int) {
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

// BenchmarkShortProcesses judges a run of 64 processes with 20,000 short ones beside them.
func BenchmarkShortProcesses(b *testing.B) {
	var at, pid, foot []float64
	var all []record.Event
	row := func(t float64, p int) {
		at, pid, foot = append(at, t), append(pid, float64(p)), append(foot, 1<<30)
	}
	for i := range 20_000 {
		t := float64(i) * 1000
		row(t, 1+i%64)
		row(t+1, 1000+i)
		all = append(all, record.Event{TMs: t + 1, PID: 1000 + i, Kind: record.KindProcess,
			Name: fmt.Sprint("worker ", i)})
	}
	run := &record.Run{Events: all, Samples: record.NewSamples(
		[]string{record.ColTime, record.ColPID, record.ColFootprint}, [][]float64{at, pid, foot})}
	for b.Loop() {
		Judge(run, Options{})
	}
}
