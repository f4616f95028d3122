package verdict

import (
	"math"

	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// z10 is the standard normal quantile between which 80 % lie.
const z10 = 1.2816

// forecast says when growth reaches the nearest limit, from the upper
// envelope of what is used. Nil when no limit is known, nothing surely grows,
// or it is further than a century away.
func (s *settled) forecast() *Forecast {
	if s.restsOn != ByTrend || s.primary == keys || s.judged.clock == nil || s.judged.untimed {
		return nil
	}
	var best *Forecast
	for _, c := range [...]struct {
		name string
		cols []string
		of   []key
	}{
		{record.LimitDevice, []string{record.ColGPU}, []key{keyLive, keyIdle, keyUntracked}},
		{record.LimitCgroup, []string{record.ColFootprint, record.ColRSS}, s.hostKeys()},
		{record.LimitHost, []string{record.ColFootprint, record.ColRSS}, s.hostKeys()},
	} {
		capacity, ok := s.run.Meta.CapacityBytes[c.name]
		if !ok || capacity <= 0 {
			continue
		}
		f := s.reaches(c.name, capacity, s.judged.envelope(c.cols), c.of)
		if f != nil && (best == nil || f.P50 < best.P50) {
			best = f
		}
	}
	return best
}

// hostKeys are the accounts that are host memory.
func (s *settled) hostKeys() []key {
	if s.judged.unified() {
		return []key{keyHost, keyLive, keyIdle, keyUntracked}
	}
	return []key{keyHost}
}

// envelope is the upper envelope of the first known column near the run's end.
func (l *accounts) envelope(cols []string) float64 {
	for _, name := range cols {
		if v := l.cols[name]; v != nil {
			if last := stat.Known(v[len(v)*9/10:]); len(last) > 0 {
				return stat.Quantile(last, .95)
			}
		}
	}
	return math.NaN()
}

func (s *settled) reaches(name string, capacity int64, used float64, of []key) *Forecast {
	rate, variance := 0., 0.
	for _, k := range of {
		g := &s.grow[k]
		if !g.Growing() {
			continue
		}
		sec, _ := s.judged.rates(g)
		if sec == nil || g.Rate == 0 {
			continue
		}
		rate += sec.Value
		variance += math.Pow(g.SE*sec.Value/g.Rate, 2)
	}
	left := float64(capacity) - used
	sd := math.Sqrt(variance)
	if !(left > 0) || rate-1.96*sd <= 0 || left/rate > 100*365*86400 {
		return nil
	}
	return &Forecast{
		Limit: name, CapacityBytes: capacity,
		P10: stat.Round(left / (rate + z10*sd)), P50: stat.Round(left / rate),
		P90: stat.Round(left / (rate - z10*sd)),
	}
}

// moreMinutes is how much longer a run must be for the doubtful accounts to
// be settled: an error shrinks with the run's length to the power 3/2 when
// noise is short-lived, to the power 1/2 when it wanders.
func (s *settled) moreMinutes() *float64 {
	l := s.judged
	if s.class != Undecided || s.lacking || len(l.clock) < 2 || l.untimed {
		return nil
	}
	so := (l.clock[len(l.clock)-1] - l.clock[0]) / 60
	if so <= 0 {
		return nil
	}
	factor := 1.
	for _, k := range testedKeys {
		g := &s.grow[k]
		if l.series[k] == nil || g.Shape != trend.ShapeUndecided {
			continue
		}
		if !g.Known {
			factor = math.Max(factor, float64(3*trend.LeastRows)/float64(len(l.clock)))
			continue
		}
		power := 2. / 3
		if g.Rho > .8 {
			power = 2
		}
		factor = math.Max(factor, math.Pow(math.Max(1.5, g.Upper/g.Limit), power))
	}
	if n := filling(s.kind, &s.grow[keyHandles]); n > 0 {
		factor = math.Max(factor, math.Max(2, mostCached/n))
	}
	m := stat.Round(so * stat.Clamp(factor-1, .25, 100))
	return &m
}
