package metrics

import (
	"math"
	"slices"

	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// amend adds to a verdict of the engine what is published beside it.
func (b *Book) amend(samples *record.Samples, v *verdict.Verdict) {
	if row, ok := b.unowned(samples, v); ok {
		v.Accounts = append(v.Accounts, row)
	}
	if f := b.forecast(samples); f != nil && (v.Forecast == nil || f.P50 < v.Forecast.P50) {
		v.Forecast = f
	}
}

// unowned is the growth of device bytes whose owner nobody tells: the engine
// judges it, and has no account for it. It stands under untracked, as the bytes
// do.
func (b *Book) unowned(samples *record.Samples, v *verdict.Verdict) (row verdict.AccountRow, ok bool) {
	for _, a := range v.Accounts {
		if a.Account != verdict.Host {
			return row, false
		}
	}
	if samples.Column(record.ColGPU) == nil {
		return row, false
	}
	for _, a := range verdict.Judge(&record.Run{Samples: alone(samples, record.ColGPU)},
		b.o.Judging).Accounts {
		if a.Account == verdict.Live {
			a.Account = verdict.Untracked
			return a, true
		}
	}
	return row, false
}

// forecast says when the first limit that a process grows into is reached, by
// what all use of it now: the engine knows one limit of a run, and what the
// process itself uses.
func (b *Book) forecast(samples *record.Samples) (first *verdict.Forecast) {
	for _, l := range b.o.Limits {
		for n, column := range usesOf(samples, l.Column) {
			capacity, used, ok := l.Device(n)
			if !ok {
				continue
			}
			v := verdict.Judge(&record.Run{Samples: alone(samples, column)}, b.o.Judging)
			if f := reaches(v, l.Name, capacity, used); f != nil && (first == nil || f.P50 < first.P50) {
				first = f
			}
		}
	}
	return first
}

// usesOf are the columns of a process's part of something, by device.
func usesOf(samples *record.Samples, column string) map[int]string {
	out := map[int]string{}
	for _, name := range samples.Names() {
		if base, n, of := record.SplitDevice(name); of && base == column {
			out[n] = name
		}
	}
	if len(out) == 0 && samples.Column(column) != nil {
		out[0] = column
	}
	return out
}

// alone is a copy of one column as live bytes: for the engine to say how it
// grows.
func alone(samples *record.Samples, column string) *record.Samples {
	names := []string{record.ColTime, record.ColLive}
	return record.NewSamples(names, [][]float64{slices.Clone(samples.Column(record.ColTime)),
		slices.Clone(samples.Column(column))})
}

// Quantiles of the standard normal distribution: 80 and 95 % lie between them.
const z80, z95 = 1.2816, 1.9600

// reaches says when what grows by a verdict fills the rest of a limit, nil when
// nothing surely grows.
func reaches(v *verdict.Verdict, limit string, capacity, used int64) *verdict.Forecast {
	rate, variance := 0., 0.
	for _, a := range v.Accounts {
		if a.Account == verdict.Host || a.PerSecond == nil || a.Shape != trend.Growing {
			continue
		}
		sd := (a.PerSecond.High - a.PerSecond.Low) / (2 * z95)
		rate, variance = rate+a.PerSecond.Value, variance+sd*sd
	}
	sd, left := math.Sqrt(variance), float64(capacity-used)
	const century = 100 * 365 * 86400
	if rate-z95*sd <= 0 || left <= 0 || left/rate > century {
		return nil
	}
	return &verdict.Forecast{
		Limit: limit, CapacityBytes: capacity,
		P10: left / (rate + z80*sd), P50: left / rate, P90: left / (rate - z80*sd),
	}
}
