package verdict

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// swaying is a program whose live memory wanders slowly below what its pool has of the
// driver, which is reserved bytes in each row.
func swaying(seed uint64, reserved func(i int) float64) *program {
	const rows = 600
	rng := rand.New(rand.NewPCG(seed, 1))
	live, at := make([]float64, rows), 0.
	for i := range live {
		at = .99*at + rng.NormFloat64()
		live[i] = (60 + min(max(at, -20), 20)) * mib
	}
	return newProgram(rows).healthy().
		set(record.ColLive, func(i int) float64 { return live[i] }).
		set(record.ColIdle, func(i int) float64 { return reserved(i) - live[i] }).
		set(record.ColGPU, func(i int) float64 { return 600*mib + reserved(i) })
}

func TestAPoolThatStandsStillKeepsNoMoreHoweverLiveMemorySways(t *testing.T) {
	t.Parallel()
	open := 0
	for seed := range uint64(40) {
		v := swaying(seed, func(int) float64 { return 100 * mib }).judge()
		if v.Verdict == Undecided && rowOf(v, Idle).Shape == trend.ShapeUndecided && rowOf(v, Live).Shape != trend.ShapeUndecided {
			open++
		}
		if v.Verdict != None && v.Verdict != Undecided {
			t.Errorf("seed %d: %s", seed, v.Summary)
		}
		grows := swaying(seed, func(i int) float64 { return float64(100+4*(i/20)) * mib }).judge()
		if grows.Verdict == None {
			t.Errorf("seed %d, a pool that grows: %s", seed, grows.Summary)
		}
	}
	if open > 0 {
		t.Errorf("%d of 40 are open because of the idle bytes alone", open)
	}
}

func TestAPoolThatGrowsBelowHighTeethOfWhatIsLiveIsSeen(t *testing.T) {
	t.Parallel()
	// Each round takes 800 MiB for a moment; a pool in pieces takes a block more in each second or so.
	rounds := func(reserved func(i int) float64) *program {
		p := newProgram(800)
		live := func(i int) float64 {
			if p.r.Float64() < .2 {
				return (144 + 800*p.r.Float64()) * mib
			}
			return 144 * mib
		}
		p.set(record.ColLive, live)
		held := p.cols[record.ColLive]
		return p.set(record.ColIdle, func(i int) float64 { return reserved(i) - held[i] }).
			set(record.ColGPU, func(i int) float64 { return 600*mib + reserved(i) }).
			flat(record.ColRSS, 500*mib, .01*mib)
	}
	if v := rounds(func(i int) float64 { return (950 + 16*float64(i/35)) * mib }).judge(); v.Verdict != PoolGrowth {
		t.Errorf("in pieces: %s", v.Answer)
	}
	if v := rounds(func(int) float64 { return 950 * mib }).judge(); v.Verdict != None {
		t.Errorf("in one piece: %s", v.Answer)
	}
}

func TestWhatGrowsBelowASwellIsNotThePools(t *testing.T) {
	t.Parallel()
	for _, perSecond := range []float64{3, 4} {
		p := newProgram(400)
		swell := func(i int) float64 {
			if s := math.Mod(float64(i)/20, 9); s >= 2 && s < 5 {
				return 416 * mib
			}
			return 0
		}
		kept := func(i int) float64 { return (62 + perSecond*float64(i)/20) * mib }
		p.set(record.ColLive, func(i int) float64 { return kept(i) + swell(i) }).
			set(record.ColIdle, func(i int) float64 { return 420*mib - swell(i) }).
			set(record.ColGPU, func(i int) float64 { return 1020*mib + kept(i) }).
			flat(record.ColRSS, 500*mib, .01*mib)
		if v := p.judge(); v.Verdict == PoolGrowth || v.Verdict == None {
			t.Errorf("%g MiB a second: %s", perSecond, v.Answer)
		}
	}
}

// A pool in pieces takes 12 MiB each one and a half seconds, while what is live grows by a third of a MiB in each of
// these below teeth of 500 MiB: pieces that were replaced by larger ones.
func TestAPoolThatGrowsByFarMoreThanWhatIsLiveIsTheAnswer(t *testing.T) {
	t.Parallel()
	judged := func(rows, every int) *Verdict {
		p := newProgram(rows)
		p.set(record.ColLive, func(i int) float64 {
			return 46*mib + mib/2*float64(i/30) + 528*mib*float64(max(0, i%5-3))
		})
		held := p.cols[record.ColLive]
		reserved := func(i int) float64 { return (586 + 12*float64(i/every)) * mib }
		return p.set(record.ColIdle, func(i int) float64 { return reserved(i) - held[i] }).
			set(record.ColPoolMisses, func(i int) float64 { return float64(i / every) }).
			set(record.ColGPU, func(i int) float64 { return 600*mib + reserved(i) }).
			flat(record.ColLiveCount, 40, 0).flat(record.ColRSS, 500*mib, .01*mib).judge()
	}
	for rows, want := range map[int]Class{190: Undecided, 210: PoolGrowth, 500: PoolGrowth, 800: PoolGrowth} {
		if v := judged(rows, 32); v.Verdict != want {
			t.Errorf("%d rows: %s", rows, v.Answer)
		}
	}
	if v := judged(250, 48); v.Verdict != Undecided {
		t.Errorf("it took too few blocks of one size: %s", v.Answer)
	}
	if v := judged(500, 10_000); v.Verdict != AppLeak {
		t.Errorf("the pool takes no more: %s", v.Answer)
	}
}
