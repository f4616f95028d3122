package verdict

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// loading is a program of 60 rows that loads, releases and is then purged, as
// the model load of the investigation: what live and idle hold at rows of
// its course.
func loading(live, idle float64) *program {
	at := func(i int, peak, left float64) float64 {
		switch {
		case i < 10:
			return 0
		case i < 40:
			return peak * float64(i-9) / 30
		case i < 50:
			return left
		}
		return 0 // purged
	}
	p := newProgram(60).flat(record.ColRSS, 300*mib, 0)
	p.set(record.ColLive, func(i int) float64 { return at(i, 2098*mib, live) })
	p.set(record.ColIdle, func(i int) float64 { return at(i, 0, idle) })
	p.set(record.ColGPU, func(i int) float64 { return 4*mib + at(i, 2098*mib, live+idle) })
	p.set(record.ColLiveCount, func(i int) float64 { return at(i, 201, live/mib) })
	p.set(record.ColIdleCount, func(i int) float64 { return at(i, 0, 122) })
	return p.phase("baseline", 9).phase("released", 41).receipt("purge", int64(idle), int64(idle), 50).phase("exiting", 55)
}

func TestLeftoverBetweenBaselineAndReleasedIsAFinding(t *testing.T) {
	t.Parallel()
	const kept = 1237442560 // 122 buffers, TLG-10
	pool := loading(0, kept).judge()
	if pool.Verdict != PoolGrowth || pool.RestsOn != ByLeftover || pool.Tier != Confirmed {
		t.Errorf("pool: %s %s by %s", pool.Verdict, pool.Tier, pool.RestsOn)
	}
	for _, want := range []string{"1.15 GiB", "kept by the pool's policy, not by references"} {
		if !strings.Contains(pool.Summary, want) {
			t.Errorf("%q is missing in: %s", want, pool.Summary)
		}
	}
	if !named(pool, CausePolicy) || named(pool, CauseClone) {
		t.Errorf("causes %+v", pool.Causes)
	}
	if b := account(pool, Idle).LeftoverBytes; b == nil || *b != kept {
		t.Errorf("idle leftover %v", b)
	}
	clone := loading(250*mib, 0).set(record.ColRefs, func(i int) float64 { return 201 * float64(min(i/10, 1)) }).judge()
	if clone.Verdict != AppLeak || !named(clone, CauseClone) {
		t.Errorf("clone: %s with %+v", clone.Verdict, clone.Causes)
	}
	if v := loading(0, 0).judge(); v.Verdict != None {
		t.Errorf("all given back: %s: %s", v.Verdict, v.Summary)
	}
}

func TestLeftoverCountsOnlyStrictlyAboveTheThreshold(t *testing.T) {
	t.Parallel()
	if v := loading(0, mib).judge(); v.Verdict != None {
		t.Errorf("exactly the threshold: %s", v.Verdict)
	}
	if v := loading(0, mib+1).judge(); v.Verdict != PoolGrowth {
		t.Errorf("one byte above: %s", v.Verdict)
	}
	if v := Judge(loading(0, 3*mib).run(), Options{LeftoverBytes: 4 * mib}); v.Verdict != None {
		t.Errorf("below a threshold of the user's: %s", v.Verdict)
	}
}

func TestRepetitionsAddATrendToTheLeftover(t *testing.T) {
	t.Parallel()
	p := newProgram(120).flat(record.ColRSS, 300*mib, 0)
	held := func(i int) float64 { return float64(i/30) * 5 * mib }
	p.set(record.ColLive, func(i int) float64 {
		if i%30 > 5 && i%30 < 25 {
			return held(i) + 100*mib
		}
		if i%30 >= 25 {
			return held(i) + 5*mib
		}
		return held(i)
	})
	p.flat(record.ColIdle, 0, 0).set(record.ColGPU, func(i int) float64 { return 10*mib + p.cols[record.ColLive][i] })
	for k := 0; k < 4; k++ {
		p.phase("baseline", 30*k+2).phase("released", 30*k+26)
	}
	v := p.judge()
	if v.Verdict != AppLeak || !strings.Contains(v.Summary, "more with each repetition") {
		t.Errorf("%s: %s", v.Verdict, v.Summary)
	}
}

func TestTrendAndLeftoverAreBothShown(t *testing.T) {
	t.Parallel()
	p := newProgram(600).healthy().grows(record.ColLive, 60*mib, 0, 64*kib).grows(record.ColGPU, 700*mib, 0, 64*kib)
	p.phase("baseline", 5).phase("released", 590)
	v := p.judge()
	a := account(v, Live)
	if v.Verdict != AppLeak || a.Shape != Growing || a.LeftoverBytes == nil || *a.LeftoverBytes < 30*mib {
		t.Errorf("%s: %+v", v.Verdict, a)
	}
}
