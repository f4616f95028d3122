package verdict

import (
	"math/rand/v2"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// swapping is a program of 40 s whose driver's pool holds a piece of 32 MiB for moments.
// Its device is read at times from its middle on when the piece is there; that the pool
// was asked then is rare. What is lost and what the driver gathers are MiB over the run.
func swapping(seed uint64, often float64, lost, gathered float64) *program {
	const rows, piece = 800, 32 * mib
	rng := rand.New(rand.NewPCG(seed, 5))
	part := func(of float64, i int) float64 { return of * mib * float64(i) / rows }
	told, seen := make([]float64, rows), make([]float64, rows)
	for i := range rows {
		if rng.Float64() < .1*often*float64(i)/rows {
			told[i] = piece
		}
		if rng.Float64() < .1+often*float64(i)/rows {
			seen[i] = piece
		}
	}
	return newProgram(rows).healthy().
		set(record.ColLive, func(i int) float64 { return 300*mib + part(lost, i) }).
		set(record.ColIdle, func(i int) float64 { return told[i] }).
		set(record.ColGPU, func(i int) float64 { return 818*mib + part(lost+gathered, i) + seen[i] })
}

func TestAPieceThatIsReadAtTwoMomentsIsNobodysGrowth(t *testing.T) {
	t.Parallel()
	for _, often := range []float64{.3, .5, .7} {
		open := 0
		for seed := range uint64(40) {
			if v := swapping(seed, often, 0, 0).judge(); v.Verdict == Undecided {
				open++
			} else if v.Verdict != None {
				t.Errorf("seed %d, %.1f: accused: %s", seed, often, v.Summary)
			}
			if v := swapping(seed, often, 200, 0).judge(); v.Verdict != AppLeak {
				t.Errorf("seed %d, %.1f, a leak: %s", seed, often, v.Summary)
			}
			if v := swapping(seed, often, 0, 200).judge(); v.Verdict != DriverGrowth && v.Verdict != Undecided {
				t.Errorf("seed %d, %.1f, the driver's growth: %s", seed, often, v.Summary)
			}
		}
		if open > 0 {
			t.Errorf("%.1f: %d of 40 open", often, open)
		}
	}
}

// TestWhatTheDriverWasAskedForGrowsBelowASwap: 24 MiB in 40 s, which a piece of 32 MiB that
// comes and goes hides from the device's total.
func TestWhatTheDriverWasAskedForGrowsBelowASwap(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		for _, asked := range []float64{0, 24} {
			p := swapping(seed, .5, 0, asked)
			live, idle := p.cols[record.ColLive], p.cols[record.ColIdle]
			p.set(record.ColDriverAllocBytes, func(i int) float64 {
				return live[i] + idle[i] + asked*mib*float64(i)/float64(p.rows)
			})
			want := None
			if asked > 0 {
				want = DriverGrowth
			}
			if v := p.judge(); v.Verdict != want {
				t.Errorf("seed %d, %.0f MiB more: %s", seed, asked, v.Summary)
			}
		}
	}
}
