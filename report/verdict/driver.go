package verdict

import (
	"math"

	"github.com/gpumem/gpumem/tracer/record"
)

// unit is something the program does that growth may be counted in.
type unit struct{ name, column string }

// units in the order in which one is preferred when several explain a growth
// equally well: the closest to the cause first. clock is the unit of time.
func units(c Class, clock string) []unit {
	step, alloc := unit{"step", record.ColStep}, unit{"allocation", record.ColAllocs}
	cb, shape, second := unit{"command_buffer", record.ColCommandBuffers}, unit{"shape", record.ColShapes}, unit{clock, ""}
	switch c {
	case AppLeak:
		return []unit{step, cb, alloc, shape, second}
	case PoolGrowth:
		return []unit{shape, step, alloc, cb, second}
	}
	return []unit{cb, shape, step, alloc, second}
}

// clockUnit is the unit of the ledger's clock.
func (l *ledger) clockUnit() string {
	if l.untimed {
		return "sample"
	}
	return "second"
}

// alike is how much worse than the best unit's another unit's squares may be
// for the two not to be told apart.
const alike = 1.15

// drivenBy finds the unit that explains the primary account's growth, and
// its cost: each is fitted with a weight of at least 0, and the best one, or
// the preferred of those as good, is taken. Growth that goes on while steps
// pause is counted in seconds and called background.
func (s *subject) drivenBy() (d *DrivenBy, background bool) {
	if s.primary == keys || !s.grow[s.primary].growing() {
		return nil, false
	}
	g := &s.grow[s.primary]
	l := s.led
	t := l.t[g.from:]
	at := cuts(t, blockCount(len(t), g.cycle.length))
	tx, y := troughs(t, l.series[s.primary][g.from:], at, share(s.primary))
	if len(y) < minBlocks || len(y) != len(at)-1 {
		return nil, false
	}
	background = s.growsInPauses(tx, y, at, g.from)
	type found struct {
		unit
		x   []float64
		sse float64
	}
	var all []found
	best := math.Inf(1)
	for _, u := range units(s.class, s.led.clockUnit()) {
		x := tx
		if u.column != "" {
			x = s.unitBlocks(u.column, g.from, at)
		}
		if x == nil || background && u.column != "" {
			continue
		}
		f := fitLine(x, y)
		if f.b <= 0 {
			continue
		}
		all = append(all, found{u, x, f.sse})
		best = math.Min(best, f.sse)
	}
	// Units that leave less than a thousandth of the variation unexplained are
	// all as good.
	floor := max(float64(len(y))*math.Pow(g.delta/100, 2), .001*variation(y))
	for _, f := range all {
		if f.sse <= alike*best+floor {
			fit := fitTrend(f.x, y, g.delta/100, .6*g.delta)
			w := student(fit.df) * fit.se
			return &DrivenBy{Per: f.name, Interval: Interval{Value: round(fit.b), Low: round(fit.b - w), High: round(fit.b + w)}}, background
		}
	}
	return nil, background
}

// variation is the sum of squares about the mean.
func variation(y []float64) float64 {
	mean := 0.
	for _, v := range y {
		mean += v / float64(len(y))
	}
	sum := 0.
	for _, v := range y {
		sum += (v - mean) * (v - mean)
	}
	return sum
}

// unitBlocks is a running total's mean in each block; nil when it is unknown
// in one, or does not rise.
func (s *subject) unitBlocks(column string, from int, at []int) []float64 {
	v := s.led.cols[column]
	if column == record.ColStep {
		v = s.led.step
	}
	if v == nil {
		return nil
	}
	x := make([]float64, 0, len(at)-1)
	for k := 0; k+1 < len(at); k++ {
		sum, n := 0., 0
		for i := at[k]; i < at[k+1]; i += 1 + (at[k+1]-at[k])/64 {
			if c := v[from+i]; c == c {
				sum, n = sum+c, n+1
			}
		}
		if n == 0 {
			return nil
		}
		x = append(x, sum/float64(n))
	}
	for i := 1; i < len(x); i++ {
		if x[i] < x[i-1] {
			return nil
		}
	}
	if !(x[len(x)-1] > x[0]) {
		return nil
	}
	return x
}

// growsInPauses reports whether blocks without steps, at least three of them
// and not all, show at least half of the others' growth per second.
func (s *subject) growsInPauses(tx, y []float64, at []int, from int) bool {
	if s.led.step == nil {
		return false
	}
	var still, stillT, busy, busyT float64
	pauses := 0
	for k := 1; k < len(y); k++ {
		dy, dt := y[k]-y[k-1], tx[k]-tx[k-1]
		if s.led.step[from+at[k+1]-1] == s.led.step[from+at[k-1]] {
			still, stillT = still+dy, stillT+dt
			pauses++
		} else {
			busy, busyT = busy+dy, busyT+dt
		}
	}
	return pauses >= 3 && busyT > 0 && busy > 0 && still/stillT >= .5*busy/busyT
}
