package verdict

import (
	"math"
	"time"

	"github.com/gpumem/gpumem/report/growth"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// z10 is the standard normal quantile between which 80 % lie.
const z10 = 1.2816

// forecast says when growth reaches the nearest limit, from the upper
// envelope of what is used. Nil when no limit is known, nothing surely grows,
// or it is further than a century away.
func (s *settled) forecast() *Forecast {
	if s.restsOn != ByTrend || s.primary == series.Keys || s.Judged.Clock == nil || s.Judged.Untimed {
		return nil
	}
	var best *Forecast
	for _, c := range [...]struct {
		name string
		cols []string
		of   []series.Key
	}{
		{record.LimitDevice, []string{record.ColGPU},
			[]series.Key{series.Live, series.Idle, series.Untracked}},
		{record.LimitCgroup, []string{record.ColFootprint, record.ColRSS}, s.hostKeys()},
		{record.LimitHost, []string{record.ColFootprint, record.ColRSS}, s.hostKeys()},
	} {
		capacity, ok := s.Run.Meta.CapacityBytes[c.name]
		if !ok || capacity <= 0 {
			continue
		}
		f := s.reaches(c.name, capacity, envelope(s.Judged, c.cols), c.of)
		if f != nil && (best == nil || f.P50 < best.P50) {
			best = f
		}
	}
	return best
}

// hostKeys are the accounts that are host memory.
func (s *settled) hostKeys() []series.Key {
	if s.Judged.Unified() {
		return []series.Key{series.Host, series.Live, series.Idle, series.Untracked}
	}
	return []series.Key{series.Host}
}

// envelope is the upper envelope of the first known column near the run's end.
func envelope(l *series.Accounts, cols []string) float64 {
	for _, name := range cols {
		if v := l.Cols[name]; v != nil {
			if last := stat.Known(v[len(v)*9/10:]); len(last) > 0 {
				return stat.Quantile(last, .95)
			}
		}
	}
	return math.NaN()
}

func (s *settled) reaches(name string, capacity int64, used float64, of []series.Key) *Forecast {
	rate, variance := 0., 0.
	for _, k := range of {
		g := &s.Grow[k]
		if !g.Growing() {
			continue
		}
		sec, _ := s.Judged.Rates(g)
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
	l := s.Judged
	if s.class != Undecided || s.lacking || len(l.Clock) < 2 || l.Untimed {
		return nil
	}
	so := (l.Clock[len(l.Clock)-1] - l.Clock[0]) / 60
	if so <= 0 {
		return nil
	}
	factor := 1.
	for _, k := range series.TestedKeys {
		g := &s.Grow[k]
		if l.Series[k] == nil || g.Shape != trend.ShapeUndecided {
			continue
		}
		if !g.Known {
			factor = math.Max(factor, float64(3*trend.LeastRows)/float64(len(l.Clock)))
			continue
		}
		power := 2. / 3
		if g.Rho > .8 {
			power = 2
		}
		factor = math.Max(factor, math.Pow(math.Max(1.5, g.Upper/g.Limit), power))
	}
	if n := growth.Filling(s.Kind, &s.Grow[series.Handles]); n > 0 {
		factor = math.Max(factor, math.Max(2, growth.MostCached/n))
	}
	most := 100.
	if s.why != "" { // a start is over before long, and what was fitted to it says nothing of the rest
		most = 2
	}
	m := stat.Round(so * stat.Clamp(factor-1, .25, most))
	return &m
}

// farRestart is how far away a forecast's time may be to be told as a time: what is
// further is no hurry, and the rate will not stay as it is for so long.
const farRestart = 30 * 24 * time.Hour

// RestartBefore says by which time of the clock a program that runs on should be
// restarted, so that the limit is not reached with a probability of 90 %. The forecast
// was made at that time, and the answer is in its zone; empty without a forecast, and
// where that is more than 30 days away.
func (f *Forecast) RestartBefore(at time.Time) string {
	if f == nil || f.P10 <= 0 || f.P10 > farRestart.Seconds() || at.IsZero() {
		return ""
	}
	full := at.Add(time.Duration(f.P10 * float64(time.Second))).Truncate(time.Minute)
	switch {
	case !full.After(at):
		return "restart it now"
	case full.Sub(at) < 24*time.Hour:
		return "restart it before " + full.Format("15:04")
	}
	return "restart it before " + full.Format("2006-01-02 15:04")
}
