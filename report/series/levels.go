package series

import (
	"math"

	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/trend"
)

// RisenUntil is by how much a series had risen at a time above its lowest before; NaN
// where that is not known.
func (l *Accounts) RisenUntil(k Key, at float64) float64 {
	lowest, last := math.Inf(1), math.NaN()
	for i, v := range l.Series[k] {
		if v == v && l.Clock[i] <= at {
			lowest, last = math.Min(lowest, v), v
		}
	}
	return last - lowest
}

// Between is how fast a series rose from one time to another, by the troughs of its
// parts; NaN where too little is known.
func (l *Accounts) Between(k Key, from, to float64) float64 {
	const parts = 8
	var t, y []float64
	for n := range parts {
		a := from + (to-from)*float64(n)/parts
		b := from + (to-from)*float64(n+1)/parts
		var low, at []float64
		for i, v := range l.Series[k] {
			if c := l.Clock[i]; c >= a && c < b && v == v {
				low, at = append(low, v), append(at, c)
			}
		}
		if len(low) == 0 {
			continue
		}
		t, y = append(t, stat.Mean(at)), append(y, trend.Lowest(low, trend.TroughShare))
	}
	if len(t) < parts/2 {
		return math.NaN()
	}
	return stat.FitLine(t, y).B
}

// Level is about what a series was at a time: the middle of the readings around it; NaN
// where there are none.
func (l *Accounts) Level(k Key, at float64) float64 {
	const around = .5
	var near []float64
	for i, v := range l.Series[k] {
		if math.Abs(l.Clock[i]-at) <= around && v == v {
			near = append(near, v)
		}
	}
	return stat.Median(near)
}

// Highest is the highest value of a series between two times.
func (l *Accounts) Highest(k Key, from, to float64) float64 {
	high := math.Inf(-1)
	for i, v := range l.Series[k] {
		if c := l.Clock[i]; c >= from && c <= to && v == v {
			high = math.Max(high, v)
		}
	}
	return high
}

// Lowest is the lowest value of a series between two times; positive infinity where there is none.
func (l *Accounts) Lowest(k Key, from, to float64) float64 {
	low := math.Inf(1)
	for i, v := range l.Series[k] {
		if c := l.Clock[i]; c >= from && c <= to && v == v {
			low = math.Min(low, v)
		}
	}
	return low
}
