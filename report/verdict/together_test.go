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
	judged := func(idle func(i int) float64) *Verdict {
		p := newProgram(900).healthy()
		live := func(i int) float64 { return 60*mib + 256*kib*float64(i) }
		return p.set(record.ColLive, live).set(record.ColIdle, idle).
			set(record.ColLiveCount, func(i int) float64 { return 100 + float64(i) }).
			set(record.ColGPU, func(i int) float64 { return 600*mib + live(i) + idle(i) }).judge()
	}
	faster := judged(func(i int) float64 { return 20*mib + 3*kib*float64(i)*float64(i) })
	if faster.Verdict != AppLeak || !strings.Contains(faster.Answer, "more of blocks that became too small") {
		t.Errorf("ever more: %s", faster.Answer)
	}
	if evenly := judged(func(i int) float64 { return 20*mib + 3*mib*float64(i) }); evenly.Verdict != PoolGrowth {
		t.Errorf("evenly: %s", evenly.Summary)
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
