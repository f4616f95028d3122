package verdict

import (
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// Each captured graph keeps its output live and, in a pool of its own, all that it works with. Without
// graphs it would be one array that is made anew, and larger, again and again.
func TestWhatCapturedGraphsWorkWithIsThePoolsAlsoWhileTheirOutputsAreKept(t *testing.T) {
	t.Parallel()
	for graphs, want := range map[float64]Class{0: AppLeak, .1: PoolGrowth} {
		v := newProgram(400).healthy().with("torch").
			set(record.ColLive, func(i int) float64 { return 60*mib + mib/10*float64(i) }).
			set(record.ColIdle, func(i int) float64 { return 20*mib + mib*float64(i) }).
			set(record.ColGPU, func(i int) float64 { return 580*mib + 1.1*mib*float64(i) }).
			set(record.ColGraphs, func(i int) float64 { return graphs * float64(i) }).judge()
		if v.Verdict != want {
			t.Errorf("%.1f graphs a row: %s", graphs, v.Answer)
		}
	}
}
