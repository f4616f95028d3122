package corpus

import (
	"math"
	"math/rand/v2"

	"github.com/gpumem/gpumem/tracer/record"
)

// handleTricks are numbers of the driver's handles in programs whose bytes stay.
// Truth is by what a program does with them: what is made and kept for each piece
// of work is a leak, what is bounded is none, also where its end is not in sight.
var handleTricks = [...]trick{
	{"events never destroyed", DriverGrowth, nil, record.AccountUntracked, func(r *rand.Rand, b *bench) {
		b.number(record.ColEvents, func(i int) float64 {
			return float64(40*i) + 40*math.Abs(r.NormFloat64())
		})
	}},
	{"sixty events more among those in use", DriverGrowth, []string{None}, record.AccountUntracked,
		func(r *rand.Rand, b *bench) {
			made := b.arrivals(r, 60)
			b.number(record.ColEvents, func(i int) float64 { return made[i] + 3*math.Abs(r.NormFloat64()) })
		}},
	{"a stream now and then", DriverGrowth, nil, record.AccountUntracked, func(_ *rand.Rand, b *bench) {
		b.number(record.ColStreams, func(i int) float64 { return 4 + math.Floor(40*float64(i)/float64(b.n)) })
	}},
	{"modules never unloaded", DriverGrowth, open, record.AccountUntracked, func(r *rand.Rand, b *bench) {
		made := b.arrivals(r, 1500)
		b.number(record.ColModules, func(i int) float64 { return 20 + made[i] })
	}},
	{"a hundred kernels, each compiled at its first use", None, open, "", func(r *rand.Rand, b *bench) {
		made := b.arrivals(r, 100)
		b.number(record.ColModules, func(i int) float64 { return 10 + made[i] })
	}},
	{"a cache of kernels that fills by chance", None, open, "", func(r *rand.Rand, b *bench) {
		shapes := 300 + r.IntN(700)
		draws := float64(shapes) * (1.5 + 3*r.Float64()) / float64(b.n)
		seen, due := map[int]bool{}, 0.
		b.number(record.ColModules, func(int) float64 {
			for due += draws; due >= 1; due-- {
				seen[r.IntN(shapes)] = true
			}
			return float64(len(seen))
		})
	}},
	{"as many events as there is work at once", None, nil, "", func(r *rand.Rand, b *bench) {
		x := 500.
		b.number(record.ColEvents,
			func(int) float64 { x += 10*r.NormFloat64() + (500-x)*.01; return math.Max(0, x) })
	}},
	{"a pool of events as large as it ever had to be", None, nil, "", func(r *rand.Rand, b *bench) {
		x, most := 200., 0.
		b.number(record.ColEvents, func(int) float64 {
			x += 15*r.NormFloat64() + (200-x)*.05
			most = math.Max(most, x)
			return most
		})
	}},
	{"six batches of streams", None, nil, "", func(r *rand.Rand, b *bench) {
		made := make([]float64, b.n)
		for range 6 {
			for i := r.IntN(b.n); i < b.n; i++ {
				made[i] += 8
			}
		}
		b.number(record.ColStreams, func(i int) float64 { return made[i] })
	}},
	{"events that come ever more slowly", None, nil, "", func(_ *rand.Rand, b *bench) {
		b.number(record.ColEvents, func(i int) float64 { return 60 * math.Log1p(float64(i)/10) })
	}},
	{"modules loaded for part of the run", None, open, "", func(r *rand.Rand, b *bench) {
		end := float64(b.n) * (.1 + .7*r.Float64())
		b.number(record.ColModules, func(i int) float64 { return 300 * math.Min(1, float64(i)/end) })
	}},
	{"events of batches that are waited for", None, nil, "", func(r *rand.Rand, b *bench) {
		batch := 20 + r.IntN(b.n/4)
		b.number(record.ColEvents, func(i int) float64 { return 30 + 5*float64(i%batch) })
	}},
}

// number sets a number of handles by row.
func (b *bench) number(column string, f func(i int) float64) {
	v := make([]float64, b.n)
	for i := range v {
		v[i] = math.Round(f(i))
	}
	b.own[column] = v
}

// arrivals are how many of about so many came by each row, at random all over the
// trace.
func (b *bench) arrivals(r *rand.Rand, all float64) []float64 {
	v := make([]float64, b.n)
	n := 0.
	for i := range v {
		for left := all / float64(b.n); left > 0; left-- {
			if r.Float64() < left {
				n++
			}
		}
		v[i] = n
	}
	return v
}
