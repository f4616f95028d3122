package tui

import (
	"math"
	"math/rand/v2"
	"testing"
)

func hostValues(x float64) *values {
	v := unknownValues()
	v[seriesHost] = x
	return &v
}

func TestAPeakOfOneRowSurvivesEveryHalving(t *testing.T) {
	t.Parallel()
	h := newHistory(64)
	for i := range 100_000 {
		x := 1.
		if i == 31_337 {
			x = 999
		}
		h.add(float64(i), hostValues(x))
	}
	if len(h.buckets) > 64 {
		t.Errorf("%d buckets are kept of at most 64", len(h.buckets))
	}
	for _, n := range []int{1, 7, 60, 500} {
		peak := 0.
		for _, v := range h.columns(0, 99_999, n) {
			peak = math.Max(peak, v[seriesHost])
		}
		if peak != 999 {
			t.Errorf("the highest of %d columns is %v, want the peak of 999", n, peak)
		}
	}
}

func TestColumnsKnowNothingOfTimesWithoutRows(t *testing.T) {
	t.Parallel()
	h := newHistory(16)
	h.add(100, hostValues(1))
	h.add(200, hostValues(2))
	got := h.columns(0, 400, 8)
	for i, want := range []float64{math.NaN(), math.NaN(), 1, 1, 2, math.NaN(), math.NaN(), math.NaN()} {
		if x := got[i][seriesHost]; x != want && !(math.IsNaN(x) && math.IsNaN(want)) {
			t.Errorf("column %d is %v, want %v", i, x, want)
		}
	}
}

func TestHistoriesKeepOrderAndSpanWhateverComes(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		h, n, at, most := newHistory(2+r.IntN(30)), r.IntN(400), 0., 0.
		for range n {
			at += r.Float64() * 10
			x := r.Float64() * 100
			most = math.Max(most, x)
			h.add(at, hostValues(x))
		}
		peak := 0.
		for i, b := range h.buckets {
			if b.from > b.to || i > 0 && b.from < h.buckets[i-1].to {
				t.Fatalf("bucket %d is out of order: %+v", i, h.buckets)
			}
			peak = math.Max(peak, b.height)
		}
		if len(h.buckets) > h.most || n > 0 && (peak != most || h.buckets[len(h.buckets)-1].to != at) {
			t.Fatalf("%d rows: %d buckets of %d, peak %v of %v, end %v", n, len(h.buckets), h.most, peak, most, at)
		}
	}
}
