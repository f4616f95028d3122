package verdict

import (
	"math/rand/v2"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// momentary is a program of 40 s whose driver's pool holds a piece for moments, of which
// there are more and more, and what piece and kept say of a row, in MiB, beside them.
func momentary(seed uint64, piece, kept, lost func(i int) float64) *program {
	const rows = 800
	rng := rand.New(rand.NewPCG(seed, 3))
	held := func() []bool {
		h := make([]bool, rows)
		for i := range h {
			h[i] = rng.Float64() < .1+.8*float64(i)/rows
		}
		return h
	}
	told, seen := held(), held() // the driver's tool looks at another moment than the pool
	idle := func(h []bool, i int) float64 {
		if h[i] {
			return (piece(i) + kept(i)) * mib
		}
		return kept(i) * mib
	}
	return newProgram(rows).healthy().
		set(record.ColLive, func(i int) float64 { return (300 + lost(i)) * mib }).
		set(record.ColIdle, func(i int) float64 { return idle(told, i) }).
		set(record.ColGPU, func(i int) float64 { return (800+lost(i))*mib + idle(seen, i) })
}

func TestAPieceThatAPoolHoldsForMomentsIsNotKeptHoweverManyTheyBecome(t *testing.T) {
	t.Parallel()
	const seeds = 20
	none := func(int) float64 { return 0 }
	level := func(mib float64) func(int) float64 { return func(int) float64 { return mib } }
	slope := func(from, to float64) func(int) float64 {
		return func(i int) float64 { return from + (to-from)*float64(i)/800 }
	}
	for _, c := range []struct {
		name              string
		piece, kept, lost func(int) float64
		right             func(Class) bool
	}{
		{"moments", level(32), none, none, func(c Class) bool { return c == None }},
		{"and blocks that are lost", level(32), none, slope(0, 200),
			func(c Class) bool { return c == AppLeak }},
		{"and more that is kept", level(32), slope(0, 200), none,
			func(c Class) bool { return c == PoolGrowth }},
		{"and a little more that is kept", level(32), slope(0, 24), none,
			func(c Class) bool { return c != None }},
	} {
		wrong, last := 0, ""
		for seed := range uint64(seeds) {
			if v := momentary(seed, c.piece, c.kept, c.lost).judge(); !c.right(v.Verdict) {
				wrong, last = wrong+1, v.Summary
			}
		}
		if wrong > 0 {
			t.Errorf("%s: %d of %d wrong: %s", c.name, wrong, seeds, last)
		}
	}
}
