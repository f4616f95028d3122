package verdict

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/cause"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// counted is a program whose bytes stay, with a number of handles by row.
func counted(rows int, column string, f func(i int) float64) *program {
	return newProgram(rows).healthy().set(column, f)
}

func TestHandlesThatAccrueWithoutBytesAreADriversGrowth(t *testing.T) {
	t.Parallel()
	unknownLive := counted(400, record.ColEvents, func(i int) float64 { return float64(3 * i) })
	delete(unknownLive.cols, record.ColLive)
	delete(unknownLive.cols, record.ColLiveCount)
	delete(unknownLive.cols, record.ColGPU)
	for name, c := range map[string]struct {
		p    *program
		what string
		tier Tier
	}{
		"an event a row": {counted(400, record.ColEvents, func(i int) float64 { return float64(i) }), "events", Confirmed},
		"a stream now and then": {counted(1200, record.ColStreams, func(i int) float64 { return 4 + float64(i/20) }),
			"streams", Confirmed},
		"memory pools": {counted(400, record.ColPools, func(i int) float64 { return 1 + float64(i/4) }),
			"memory pools", Confirmed},
		"above what comes and goes": {counted(800, record.ColEvents,
			func(i int) float64 { return 300*float64(i%20)/20 + float64(i) }), "events", Confirmed},
		"objects that nobody counts": {unknownLive, "events", Suspected},
		"more modules than are cached": {counted(400, record.ColModules,
			func(i int) float64 { return 20 + float64(i) }), "modules", Suspected},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := c.p.judge()
			if v.Verdict != DriverGrowth || v.Tier != c.tier || !named(v, cause.HandleLeak) ||
				!strings.Contains(v.Summary, "the driver's "+c.what+" grows") {
				t.Errorf("%s (%s) with %+v: %s", v.Verdict, v.Tier, v.Causes, v.Summary)
			}
			if a := rowOf(v, Untracked); a.Count == nil || *a.Count < trend.LeastRises || a.Shape != trend.Growing {
				t.Errorf("the account's row: %+v", a)
			}
		})
	}
}

// Numbers that rise in healthy programs, of each kind of handle.
var atRest = map[string]func(i, rows int, r *rand.Rand) float64{
	"one step":  func(i, rows int, _ *rand.Rand) float64 { return 64 * float64(3*i/rows/2) },
	"six steps": func(i, rows int, _ *rand.Rand) float64 { return 8 * float64(7*i/rows) },
	"a warm-up": func(i, rows int, _ *rand.Rand) float64 { return 300 * (1 - math.Exp(-8*float64(i)/float64(rows))) },
	"loaded for half of the run": func(i, rows int,
		_ *rand.Rand) float64 {
		return 300 * float64(min(i, rows/2)) / float64(rows/2)
	},
	"ever more slowly":          func(i, _ int, _ *rand.Rand) float64 { return 60 * math.Log1p(float64(i)/10) },
	"a sawtooth":                func(i, rows int, _ *rand.Rand) float64 { return float64(5 * (i % (rows / 7))) },
	"as many as there is to do": func(_, _ int, r *rand.Rand) float64 { return 200 + 40*r.NormFloat64() },
	"a cache of four hundred": func(i, rows int, _ *rand.Rand) float64 {
		return 400 * (1 - math.Pow(1-1./400, 1600*float64(i)/float64(rows)))
	},
	"a few more over the run": func(i, rows int, _ *rand.Rand) float64 { return float64(15 * i / rows) },
	"those that two phases bring": func(i, rows int, _ *rand.Rand) float64 {
		return 100 * (float64(i*5/rows/2) +
			float64(i*5/rows/4))
	},
}

func TestHandlesOfAHealthyProgramAreNoGrowth(t *testing.T) {
	t.Parallel()
	for name, f := range atRest {
		for _, k := range account.HandleKinds() {
			t.Run(name+", "+k.Name, func(t *testing.T) {
				t.Parallel()
				for _, rows := range [...]int{120, 400, 1200} {
					r := rand.New(rand.NewPCG(3, uint64(rows)))
					if v := counted(rows, k.Column, func(i int) float64 { return f(i, rows, r) }).judge(); v.Verdict != None {
						t.Errorf("%d rows: %s: %s", rows, v.Verdict, v.Summary)
					}
				}
			})
		}
	}
}

// A cache of compiled kernels grows like a leak until it is full.
func TestModulesThatMayFillACacheAreUndecided(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(i int) float64{
		"few":          func(i int) float64 { return 20 + float64(i/10) },
		"ever fewer":   func(i int) float64 { return 40 * math.Pow(float64(i), .7) },
		"many, slower": func(i int) float64 { return float64(i) - float64(i*i)/8000 },
	} {
		v := counted(1200, record.ColModules, f).judge()
		if v.Verdict != Undecided || !strings.Contains(v.Summary, "a cache that still fills") || v.MoreMinutes == nil {
			t.Errorf("%s: %s: %s", name, v.Verdict, v.Summary)
		}
	}
}

func TestTheCostOfAGrowingNumberIsNotInBytes(t *testing.T) {
	t.Parallel()
	for of, p := range map[string]*program{
		"events":  counted(400, record.ColEvents, func(i int) float64 { return float64(6 * i) }),
		"handles": newProgram(400).healthy().grows(record.ColLiveCount, 40, 0, 6),
		"":        newProgram(400).healthy().grows(record.ColRSS, 500*mib, 16*kib, 64*kib),
	} {
		if d := p.judge().DrivenBy; d == nil || d.Of != of || of != "" && (d.Per != "step" || math.Abs(d.Value-2) > .01) {
			t.Errorf("%q: driven by %+v, want 2 a step", of, d)
		}
	}
}

func TestWhatTheCaptureMissedIsNoGrowthOfHandles(t *testing.T) {
	t.Parallel()
	p := counted(400, record.ColEvents, func(i int) float64 { return float64(i) }).set(record.ColCaptureLost,
		func(i int) float64 { return float64(2 * i) })
	if v := p.judge(); v.Verdict != None {
		t.Errorf("each end of an event may have been missed: %s: %s", v.Verdict, v.Summary)
	}
	p = counted(400, record.ColEvents, func(i int) float64 { return float64(9 * i) }).set(record.ColCaptureLost,
		func(i int) float64 { return float64(2 * i) })
	if v := p.judge(); v.Verdict != DriverGrowth {
		t.Errorf("more events than were missed: %s: %s", v.Verdict, v.Summary)
	}
}

func TestBytesThatGrowSayMoreThanTheNumberOfHandles(t *testing.T) {
	t.Parallel()
	events := func(i int) float64 { return float64(2 * i) }
	p := counted(600, record.ColEvents, events).grows(record.ColLive, 60*mib, 0, 64*kib).grows(record.ColGPU,
		700*mib, 0, 64*kib).grows(record.ColLiveCount, 40, 0, 1)
	if v := p.judge(); v.Verdict != AppLeak {
		t.Errorf("objects that hold an event each: %s: %s", v.Verdict, v.Summary)
	}
	for asked, want := range map[float64]Class{64 * kib: Undecided, 0: DriverGrowth} {
		p := counted(600, record.ColEvents, events).grows(record.ColGPU, 700*mib, 0,
			64*kib).grows(record.ColDriverAllocBytes, 600*mib, 0, asked)
		delete(p.cols, record.ColLive)
		delete(p.cols, record.ColIdle)
		if v := p.judge(); v.Verdict != want {
			t.Errorf("device memory of unknown owner, %.0f B of it asked for a row: %s, want %s: %s", asked, v.Verdict,
				want, v.Summary)
		}
	}
}

func TestHandlesThatAreGoneAtReleasedWereTheWork(t *testing.T) {
	t.Parallel()
	for left, want := range map[float64]Class{0: None, 590: DriverGrowth} {
		p := counted(620, record.ColEvents, func(i int) float64 {
			if i >= 600 {
				return left
			}
			return float64(i)
		}).phase("baseline", 0).phase("released", 600)
		delete(p.cols, record.ColStep)
		if v := p.judge(); v.Verdict != want {
			t.Errorf("%.0f left: %s, want %s: %s", left, v.Verdict, want, v.Summary)
		}
	}
}

func TestADiffFindsHandlesThatAccrueSince(t *testing.T) {
	t.Parallel()
	base := counted(400, record.ColEvents, func(i int) float64 { return float64(20 + i%3) })
	leak := counted(400, record.ColEvents, func(i int) float64 { return float64(20 + i) })
	if d := Diff(base.run(), leak.run(), Options{}); d.Verdict != DriverGrowth ||
		!strings.Contains(d.Summary, "the driver's events") {
		t.Errorf("%s: %s", d.Verdict, d.Summary)
	}
	if d := Diff(leak.run(), leak.run(), Options{}); d.Verdict != None {
		t.Errorf("as before: %s: %s", d.Verdict, d.Summary)
	}
}
