package tui

import (
	"math"
	"strings"

	"github.com/gpumem/gpumem/tracer/record"
)

// series is one line that the screen can draw.
type series int

// The series. The first four are the accounts.
const (
	seriesLive series = iota
	seriesIdle
	seriesUntracked
	seriesHost
	seriesGPU
	seriesFootprint
	seriesHeap
	seriesCache // clean pages of mapped files, charged to no account
	seriesRSS
	seriesLiveCount
	seriesIdleCount
	seriesInFlight
	seriesCount
)

// accountSeries is how many of the series are accounts.
const accountSeries = seriesHost + 1

// values are one value a series; NaN is unknown.
type values [seriesCount]float64

func unknownValues() values {
	var v values
	for i := range v {
		v[i] = math.NaN()
	}
	return v
}

func known(x float64) bool { return !record.IsUnknown(x) }

// merge takes over what is known of w.
func (v *values) merge(w *values) {
	for i, x := range w {
		if known(x) {
			v[i] = x
		}
	}
}

// fill takes over what is known of w and unknown here.
func (v *values) fill(w *values) {
	for i, x := range w {
		if known(x) && !known(v[i]) {
			v[i] = x
		}
	}
}

// sum adds what is known; NaN when nothing is.
func sum(parts ...float64) float64 {
	s, any := 0.0, false
	for _, p := range parts {
		if known(p) {
			s, any = s+p, true
		}
	}
	if !any {
		return math.NaN()
	}
	return s
}

// device is what the process holds on its device: as the driver charges it,
// else what its pool knows.
func (v *values) device() float64 {
	if known(v[seriesGPU]) {
		return v[seriesGPU]
	}
	return sum(v[seriesLive], v[seriesIdle])
}

// resident is the process's footprint, else its resident size.
func (v *values) resident() float64 {
	if known(v[seriesFootprint]) {
		return v[seriesFootprint]
	}
	return v[seriesRSS]
}

// total is what a process holds in all.
func total(v *values, unified bool) float64 {
	host := v[seriesFootprint]
	if !known(host) {
		host = v[seriesRSS]
	}
	if unified && known(host) {
		return host
	}
	return sum(v.device(), host)
}

// stack is the height of the stacked accounts.
func stack(v *values) float64 { return sum(v.device(), v[seriesHost]) }

// seriesOf is the series that a column feeds directly.
func seriesOf(column string) (series, bool) {
	switch column {
	case record.ColLive:
		return seriesLive, true
	case record.ColIdle:
		return seriesIdle, true
	case record.ColGPU:
		return seriesGPU, true
	case record.ColFootprint:
		return seriesFootprint, true
	case record.ColFileCache:
		return seriesCache, true
	case record.ColHostHeap:
		return seriesHeap, true
	case record.ColRSS:
		return seriesRSS, true
	case record.ColLiveCount:
		return seriesLiveCount, true
	case record.ColIdleCount:
		return seriesIdleCount, true
	case record.ColInFlight:
		return seriesInFlight, true
	}
	return 0, false
}

// deviceColumn splits "gpu_bytes@1"; ok is false for a column of no device.
func deviceColumn(column string) (base string, device int, ok bool) {
	if strings.IndexByte(column, '@') < 0 {
		return column, 0, false
	}
	return record.SplitDevice(column)
}
