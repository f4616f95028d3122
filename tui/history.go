package tui

import (
	"math"
	"sort"
)

// history is a ledger over time in a bounded number of buckets. Each bucket has
// the values at its highest total, so that a peak of one row survives any
// number of halvings, and its last values.
type history struct {
	buckets []bucket
	most    int // buckets kept
	stride  int // rows a bucket
	open    int // rows in the last bucket
}

type bucket struct {
	from, to float64 // ms
	peak     values
	height   float64 // total at peak; NaN when unknown
	last     values
}

func newHistory(most int) history { return history{most: max(most, 2), stride: 1} }

// add takes the values of a row. Times do not descend.
func (h *history) add(tMs float64, v *values) {
	height := stack(v)
	if h.open > 0 && h.open < h.stride {
		b := &h.buckets[len(h.buckets)-1]
		b.take(tMs, v, height)
		h.open++
		return
	}
	if len(h.buckets) == h.most {
		h.halve()
		if h.open < h.stride {
			h.add(tMs, v)
			return
		}
	}
	h.buckets = append(h.buckets, bucket{from: tMs, to: tMs, peak: *v, height: height, last: *v})
	h.open = 1
}

func (b *bucket) take(tMs float64, v *values, height float64) {
	b.to, b.last = tMs, *v
	if !(height <= b.height) && known(height) {
		b.peak, b.height = *v, height
	}
}

// halve joins each two buckets to one.
func (h *history) halve() {
	n := 0
	for i := 0; i < len(h.buckets); i += 2 {
		b := h.buckets[i]
		if i+1 < len(h.buckets) {
			next := &h.buckets[i+1]
			b.take(next.to, &next.last, math.NaN())
			if known(next.height) && !(next.height <= b.height) {
				b.peak, b.height = next.peak, next.height
			}
		}
		h.buckets[n] = b
		n++
	}
	if len(h.buckets)%2 == 0 {
		h.open = 2 * h.stride
	}
	h.buckets, h.stride = h.buckets[:n], 2*h.stride
}

// span is the first and last time, NaN when there are none.
func (h *history) span() (from, to float64) {
	if len(h.buckets) == 0 {
		return math.NaN(), math.NaN()
	}
	return h.buckets[0].from, h.buckets[len(h.buckets)-1].to
}

// columns are the values at the highest total in each of n equal parts of a
// window. A part without rows has what held before it; parts before the first
// row and after the last are unknown.
func (h *history) columns(fromMs, toMs float64, n int) []values {
	out := make([]values, n)
	for i := range out {
		out[i] = unknownValues()
	}
	if n == 0 || len(h.buckets) == 0 || !(toMs > fromMs) {
		if n > 0 && len(h.buckets) > 0 && toMs == fromMs {
			out[0] = h.buckets[0].last
		}
		return out
	}
	heights := make([]float64, n)
	hit := make([]bool, n)
	width := (toMs - fromMs) / float64(n)
	column := func(t float64) int { return min(max(int((t-fromMs)/width), 0), n-1) }
	first := sort.Search(len(h.buckets), func(i int) bool { return h.buckets[i].to >= fromMs })
	for i := first; i < len(h.buckets) && h.buckets[i].from <= toMs; i++ {
		b := &h.buckets[i]
		for c := column(b.from); c <= column(b.to); c++ {
			if !hit[c] || !(b.height <= heights[c]) {
				out[c], heights[c], hit[c] = b.peak, b.height, true
			}
		}
	}
	h.carry(out, hit, first, toMs, column)
	return out
}

// carry fills the parts between rows with what held before them.
func (h *history) carry(out []values, hit []bool, first int, toMs float64, column func(float64) int) {
	before := unknownValues()
	if first > 0 {
		before = h.buckets[first-1].last
	}
	end := len(out) - 1
	if _, to := h.span(); to < toMs {
		end = column(to)
	}
	for i := range out[:end+1] {
		if hit[i] {
			before = out[i]
			continue
		}
		out[i] = before
	}
}

// at is what held at a time, unknown before the first row.
func (h *history) at(tMs float64) values {
	i := sort.Search(len(h.buckets), func(i int) bool { return h.buckets[i].from > tMs })
	if i == 0 {
		return unknownValues()
	}
	if b := &h.buckets[i-1]; b.to > tMs && i > 1 { // its last values are of a later time
		return h.buckets[i-2].last
	}
	return h.buckets[i-1].last
}

// line is one series over the last n parts of all time, for a sparkline.
func (h *history) line(s series, n int) []float64 {
	from, to := h.span()
	out := make([]float64, 0, n)
	for _, v := range h.columns(from, to, n) {
		out = append(out, v[s])
	}
	return out
}
