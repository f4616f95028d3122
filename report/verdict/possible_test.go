package verdict

import (
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

func TestNoGrowthIsLargerThanWhatTheAccountEverHeld(t *testing.T) {
	t.Parallel()
	const peak = 66 * gib
	p := newProgram(800).healthy()
	saw := func(i int) float64 { return peak / 400 * float64(i%400) }
	p.set(record.ColIdle, saw).set(record.ColGPU, func(i int) float64 { return 700*mib + saw(i) })
	p.set(record.ColDriverFailed, func(i int) float64 { return float64(i / 400) })
	v := p.judge()
	if v.Verdict != PoolGrowth {
		t.Fatalf("%s", v.Summary)
	}
	for _, r := range v.Accounts {
		for _, b := range []*int64{r.Bytes, r.BytesLow, r.BytesHigh} {
			if b != nil && *b > peak {
				t.Errorf("%s grows by %d of at most %d: %s", r.Account, *b, int64(peak), v.Summary)
			}
		}
	}
}

func TestAListThatGrowsByCopyingIsNotItsPools(t *testing.T) {
	t.Parallel()
	p := newProgram(600).healthy()
	live := func(i int) float64 { return 60*mib + mib*float64(i) }
	idle := func(i int) float64 { return 20*mib + 4*mib*float64(i) } // each copy leaves a smaller block
	p.set(record.ColLive, live).set(record.ColIdle, idle)
	p.set(record.ColGPU, func(i int) float64 { return 620*mib + live(i) + idle(i) })
	if v := p.judge(); v.Verdict != AppLeak {
		t.Errorf("one array that grows: %s", v.Summary)
	}
	p.set(record.ColLive, func(i int) float64 { return 60*mib + .1*mib*float64(i) })
	p.set(record.ColLiveCount, func(i int) float64 { return 40 + float64(i/20) })
	if v := p.judge(); v.Verdict != PoolGrowth {
		t.Errorf("a pool that keeps far more than what is left in it: %s", v.Summary)
	}
}
