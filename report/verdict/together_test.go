package verdict

import (
	"math"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// What a program keeps and puts together now and then makes requests climb, and the pool keeps the blocks
// that became too small: ever more. A pool that grows evenly beside has a reason of its own.
func TestAPoolWhoseRequestsFollowWhatIsKeptIsTheProgramsLeak(t *testing.T) {
	t.Parallel()
	const segment = 9 // rows from one to the next
	judged := func(idle, size func(i int) float64) *Verdict {
		p := newProgram(900).healthy()
		live := func(i int) float64 { return 60*mib + 256*kib*float64(i) }
		taken := make([]float64, 900)
		for i := 1; i < len(taken); i++ {
			if taken[i] = taken[i-1]; i%segment == 0 {
				taken[i] += size(i)
			}
		}
		return p.set(record.ColLive, live).set(record.ColIdle, idle).
			set(record.ColLiveCount, func(i int) float64 { return 100 + float64(i) }).
			set(record.ColDriverAllocBytes, func(i int) float64 { return 300*mib + taken[i] }).
			set(record.ColDriverAllocs, func(i int) float64 { return 20 + float64(i/segment) }).
			set(record.ColGPU, func(i int) float64 { return 600*mib + live(i) + idle(i) }).judge()
	}
	same := func(int) float64 { return 29 * mib }
	climbing := func(i int) float64 { return 64 * kib * float64(i) }
	evenly := func(i int) float64 { return 20*mib + 3*mib*float64(i) }
	for name, v := range map[string]*Verdict{
		"ever more":                   judged(func(i int) float64 { return 20*mib + 3*kib*float64(i)*float64(i) }, same),
		"evenly, in ever larger ones": judged(evenly, climbing),
	} {
		if v.Verdict != AppLeak || !strings.Contains(v.Answer, "more of blocks that became too small") {
			t.Errorf("%s: %s", name, v.Answer)
		}
	}
	if v := judged(evenly, same); v.Verdict != PoolGrowth {
		t.Errorf("evenly: %s", v.Summary)
	}
}

// A ring whose new elements are a little larger than those that they replace is no reason for what a pool
// takes, nor is a list whose arrays are replaced by larger ones where its blocks have one size.
func TestAPoolInPiecesBesideARingIsThePools(t *testing.T) {
	t.Parallel()
	const segment = 27 // rows from one to the next
	judged := func(bound int64, more float64) *Verdict {
		p := newProgram(900).healthy()
		live := func(i int) float64 { return 140*mib + 24*kib*float64(i) }
		taken := func(n float64) float64 { return 12*mib*n + more*mib*n*(n-1)/2 } // by so many blocks
		idle := func(i int) float64 { return 20*mib + taken(float64(i/segment)) - 24*kib*float64(i) }
		for at, over := 3., 2.; at < 44; at, over = at+over, 2*over {
			p.events = append(p.events, record.Event{TMs: at * 1000, Kind: record.KindHolders, Holders: []record.Holder{{
				Path: "deque main() local lane.profiles", Bytes: int64(over * 480 * kib), Count: int64(4 * over),
				Length: 95, Bound: bound, OverMs: over * 1000, Filled: "/srv/app/lane.py:57 renew"}}})
		}
		return p.set(record.ColLive, live).set(record.ColIdle, idle).
			set(record.ColLiveCount, func(int) float64 { return 101 }).
			set(record.ColPoolMisses, func(i int) float64 { return float64(i / segment) }).
			set(record.ColGPU, func(i int) float64 { return 600*mib + live(i) + idle(i) }).with("torch").judge()
	}
	v := judged(95, 0)
	const kept = "cause: pool fragmentation; most of what stays live went to deque main() local lane.profiles, " +
		"filled at app/lane.py:57 in renew."
	if v.Verdict != PoolGrowth || !strings.HasSuffix(v.Answer, kept) {
		t.Errorf("full: %s", v.Answer)
	}
	if v := judged(0, .1); v.Verdict != AppLeak {
		t.Errorf("without a bound, in ever larger blocks: %s", v.Answer)
	}
	if v := judged(0, 0); v.Verdict != PoolGrowth {
		t.Errorf("without a bound, in blocks of one size: %s", v.Answer)
	}
}

// The driver gives memory in grains, so that its books rise a little with each block that a program keeps.
func TestGrainsOfTheDriverBesideArraysThatMayGrowAreNoGrowthOfItsOwn(t *testing.T) {
	t.Parallel()
	judged := func(rise float64) *Verdict {
		p := newProgram(180).healthy()
		live := func(i int) float64 { // its trend is open: it waits, and rises in steps of uneven length
			return 4*mib + rise*mib*math.Floor(math.Max(0, float64(i)-70)/11)*(1+.4*math.Sin(float64(i)/9))
		}
		p.set(record.ColLive, live).set(record.ColGPU, func(i int) float64 {
			return 600*mib + live(i) + 90*kib*float64(i) + 5000*kib*p.r.NormFloat64()
		})
		p.meta.Versions = map[string]string{"cupy": "14.2"}
		return p.judge()
	}
	if v := judged(8); v.Verdict != Undecided || !strings.Contains(v.Summary, "takes something of the driver") {
		t.Errorf("beside arrays: %s", v.Summary)
	}
	if v := judged(0); v.Verdict != DriverGrowth {
		t.Errorf("alone: %s", v.Summary)
	}
}
