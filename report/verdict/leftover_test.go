package verdict

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/cause"
	"github.com/gpumem/gpumem/report/trend"
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
	if !named(pool, cause.Policy) || named(pool, cause.Clone) {
		t.Errorf("causes %+v", pool.Causes)
	}
	if b := rowOf(pool, Idle).LeftoverBytes; b == nil || *b != kept {
		t.Errorf("idle leftover %v", b)
	}
	clone := loading(250*mib, 0).set(record.ColRefs, func(i int) float64 { return 201 * float64(min(i/10, 1)) }).judge()
	if clone.Verdict != AppLeak || !named(clone, cause.Clone) {
		t.Errorf("clone: %s with %+v", clone.Verdict, clone.Causes)
	}
	if v := loading(0, 0).judge(); v.Verdict != None {
		t.Errorf("all given back: %s: %s", v.Verdict, v.Summary)
	}
}

func TestWhatIsLiveComesBeforeWhatThePoolKeepsBesideIt(t *testing.T) {
	t.Parallel()
	if v := loading(2.5*mib, 6*mib).judge(); v.Verdict != AppLeak || v.RestsOn != ByLeftover {
		t.Errorf("the pool never rests: %s by %s: %s", v.Verdict, v.RestsOn, v.Summary)
	}
	if v := loading(2.5*mib, 600*mib).judge(); v.Verdict != PoolGrowth {
		t.Errorf("the pool keeps many times as much: %s: %s", v.Verdict, v.Summary)
	}
	if v := loading(mib, 6*mib).judge(); v.Verdict != PoolGrowth {
		t.Errorf("what is live is at the threshold: %s: %s", v.Verdict, v.Summary)
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
	a := rowOf(v, Live)
	if v.Verdict != AppLeak || a.Shape != trend.Growing || a.LeftoverBytes == nil || *a.LeftoverBytes < 30*mib {
		t.Errorf("%s: %+v", v.Verdict, a)
	}
}

// The tracer was kept from its work while these programs ran, recorded on a busy
// machine: it read the footprint seconds after the rows' own times, and lost rows.
func TestATracerThatStalledMakesNoVerdict(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Class{
		"driver-keeps":   Undecided, // 184 MiB of host memory are left, in a course that shows no trend
		"healthy":        Undecided, // so are 4 MiB, in the 0.4 s that it saw
		"mark-lost":      None,      // the last sample before released is of a second earlier
		"mark-lost-late": None,      // or of an earlier step
	} {
		run, err := record.Open(filepath.Join("testdata", "stalled-tracer", name))
		if err != nil {
			t.Fatal(err)
		}
		v := Judge(run, Options{})
		if v.Verdict != want {
			t.Errorf("%s: %s, want %s: %s", name, v.Verdict, want, v.Summary)
		}
		if v.Verdict == Undecided && (v.MoreMinutes == nil || !strings.Contains(v.Summary, "growth of host")) {
			t.Errorf("%s: it does not say what is open, and for how long: %s", name, v.Summary)
		}
		lost := slices.ContainsFunc(v.Missing, func(m string) bool { return strings.HasPrefix(m, "leftover: ") })
		if lost != strings.HasPrefix(name, "mark-lost") {
			t.Errorf("%s: missing %q", name, v.Missing)
		}
	}
}

// Six tenths of a second of a program, recorded: the footprint rises by 3 MiB, ever
// less, and 6 MiB are left of the language's runtime.
func TestARuntimesFirstUseInAShortRunIsNothingHeld(t *testing.T) {
	t.Parallel()
	run, err := record.Open(filepath.Join("testdata", "short-first-use"))
	if err != nil {
		t.Fatal(err)
	}
	v := Judge(run, Options{})
	if a := rowOf(v, Host); v.Verdict != None || a.Shape != trend.ShapeUndecided {
		t.Errorf("%s, the host account is %s: %s", v.Verdict, a.Shape, v.Summary)
	}
}

// What host memory may hold is what it rose by at work and kept.
func TestAnUndecidedHostStandsAgainstNoneWhereItKeptWhatItRoseBy(t *testing.T) {
	t.Parallel()
	for kept, want := range map[float64]Class{0: None, 1: Undecided} {
		// 60 MiB come in waves: no trend, nor none.
		p := newProgram(400).healthy().set(record.ColRSS, func(i int) float64 {
			rise := 60 * mib * float64(i) / 400 * (1 + .5*math.Sin(float64(i)/40))
			if i >= 380 {
				rise *= kept
			}
			return 500*mib + rise
		}).phase("baseline", 1).phase("released", 385)
		v := p.judge()
		if a := rowOf(v, Host); a.Shape != trend.ShapeUndecided {
			t.Fatalf("the host account is %s: the case is none", a.Shape)
		}
		if v.Verdict != want {
			t.Errorf("%.0f kept: %s, want %s: %s", kept, v.Verdict, want, v.Summary)
		}
	}
}

func TestTheCountOfIdleBuffersIsOfTheMomentThatTheirBytesAreOf(t *testing.T) {
	t.Parallel()
	p := loading(0, 1237442560)
	for i := range p.events {
		if p.events[i].Name == record.PhaseReleased {
			p.events[i].TMs = 39.5 * 50 // between the last row of the work and the first one after it
		}
	}
	v := p.judge()
	if !named(v, cause.Policy) || !strings.Contains(strings.Join(v.Causes[0].Evidence, "; "), "1.15 GiB in 122 buffers") {
		t.Errorf("%s: %+v", v.Summary, v.Causes)
	}
}
