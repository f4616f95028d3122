package trend

import (
	"math"
	"sort"

	"github.com/gpumem/gpumem/report/internal/stat"
)

// Numbers of blocks. 64 leaves 11 samples a block in a trace of 720; more
// blocks cost time and no longer add power.
const (
	maxBlocks = 64
	MinBlocks = 6
)

// LeastRows is how many rows a series must have to be tested for a trend.
const LeastRows = 12

// TroughShare is the part of a block's samples, from the lowest, that stands
// for it: what is held between the peaks of the work.
const TroughShare = .3

// BlockCount is the number of blocks for n samples with cycles of the given
// length in samples (0: none).
func BlockCount(n, cycle int) int {
	b := n / 5
	if b < 16 {
		b = min(n, 16)
	}
	if cycle > 0 {
		b = min(b, n/cycle)
	}
	return min(b, maxBlocks)
}

// cuts divides rows of ascending x into b parts of equal length in x and
// returns the first row of each part that has rows, and the end.
func cuts(x []float64, b int) []int {
	n := len(x)
	lo, hi := x[0], x[n-1]
	out := make([]int, 1, b+1)
	for k := 1; k < b; k++ {
		e := lo + (hi-lo)*float64(k)/float64(b)
		i := sort.SearchFloat64s(x, e)
		if i > out[len(out)-1] && i < n {
			out = append(out, i)
		}
	}
	return append(out, n)
}

// troughs reduces y to one value a block, the mean of its lowest samples,
// with the mean x of the block; blocks without a known sample are left out.
func troughs(x, y []float64, at []int, share float64) (bx, by []float64) {
	bx, by = make([]float64, 0, len(at)), make([]float64, 0, len(at))
	var buf []float64
	for k := 0; k+1 < len(at); k++ {
		buf = buf[:0]
		sx := 0.0
		stride := 1 + (at[k+1]-at[k])/512 // 512 samples a block are enough for its troughs
		for i := at[k]; i < at[k+1]; i += stride {
			if y[i] == y[i] {
				buf = append(buf, y[i])
				sx += x[i]
			}
		}
		if len(buf) == 0 {
			continue
		}
		bx = append(bx, sx/float64(len(buf)))
		by = append(by, Lowest(buf, share))
	}
	return bx, by
}

// LowRows are the rows of each block of time of a growth's window that stand for
// it: those in which v is lowest, in the given share of them, or all known ones
// for a share of 0. Blocks without a known row are left out.
func (a *Axes) LowRows(v []float64, g *Growth, share float64) [][]int {
	t := a.T[g.From:]
	if len(t) < MinBlocks || !(t[len(t)-1] > t[0]) {
		return nil
	}
	at := cuts(t, BlockCount(len(t), g.Cycle.Length))
	out := make([][]int, 0, len(at))
	for b := 0; b+1 < len(at); b++ {
		var rows []int
		for i := at[b]; i < at[b+1]; i += 1 + (at[b+1]-at[b])/512 {
			if x := v[g.From+i]; x == x {
				rows = append(rows, g.From+i)
			}
		}
		if len(rows) == 0 {
			continue
		}
		if share > 0 {
			sort.SliceStable(rows, func(a, b int) bool { return v[rows[a]] < v[rows[b]] })
			rows = rows[:max(1, int(math.Ceil(share*float64(len(rows)))))]
		}
		out = append(out, rows)
	}
	return out
}

// BlockMeans are v's means over the rows of each block; nil when one has no
// known value.
func BlockMeans(v []float64, rows [][]int) []float64 {
	out := make([]float64, len(rows))
	for b, block := range rows {
		n := 0.
		for _, i := range block {
			if v[i] == v[i] {
				out[b], n = out[b]+v[i], n+1
			}
		}
		if n == 0 {
			return nil
		}
		out[b] /= n
	}
	return out
}

// Lowest is the mean of v's lowest share, or its median for a share of 0; v
// is reordered.
func Lowest(v []float64, share float64) float64 {
	sort.Float64s(v)
	if share == 0 {
		return stat.SortedQuantile(v, .5)
	}
	return stat.Mean(v[:max(1, int(math.Ceil(share*float64(len(v)))))])
}

// FallTime is how many samples a fall may take.
const FallTime = 4

// Cycle is the sawtooth of a series: how often it fell, and the length of its
// longer cycles in samples.
type Cycle struct {
	Drops  int
	Length int
}

// findCycle counts falls of a quarter of the range that also exceed 1 MiB (or
// one, for a count) and six times the usual movement between neighbours.
func findCycle(y []float64, least float64) Cycle {
	v := stat.Known(y)
	n := len(v)
	if n < 12 {
		return Cycle{}
	}
	stride := 1 + n/20000
	sample := make([]float64, 0, n/stride+1)
	steps := make([]float64, 0, n/stride+1)
	for i := 0; i < n; i += stride {
		sample = append(sample, v[i])
		if i > 0 {
			steps = append(steps, math.Abs(v[i]-v[i-1]))
		}
	}
	fall := math.Max(least, (stat.Quantile(sample, .99)-stat.Quantile(sample, .01))/4)
	fall = math.Max(fall, 6*stat.Median(steps))
	return countFalls(v, fall)
}

// countFalls finds the falls: from a local peak by more than fall, most of it
// within fallTime samples, as garbage is collected or an evaluation ends. The
// next fall counts only after the series has risen by as much again.
func countFalls(v []float64, fall float64) Cycle {
	peak, trough := v[0], v[0]
	falling := false
	var at []int
	for i, x := range v {
		if falling {
			trough = math.Min(trough, x)
			if x > trough+fall {
				falling, peak = false, x
			}
			continue
		}
		peak = math.Max(peak, x)
		if x < peak-fall {
			falling, trough = true, x
			if v[max(0, i-FallTime)]-x > fall*3/4 || v[max(0, i-FallTime/2)]-x > fall*3/4 {
				at = append(at, i)
			}
		}
	}
	c := Cycle{Drops: len(at)}
	if len(at) < 5 {
		return Cycle{}
	}
	gaps := make([]float64, len(at)-1)
	for i := range gaps {
		gaps[i] = float64(at[i+1] - at[i])
	}
	// Falls at odd times are noise, and fewer than eight cycles leave too few
	// blocks of a cycle each.
	long := stat.Quantile(gaps, .9)
	if long > 2.5*stat.Median(gaps) || float64(len(v)) < 8*long {
		return Cycle{}
	}
	c.Length = int(math.Ceil(long))
	return c
}

// inBlock is the spread of samples about the median of their block, robust
// against peaks.
func inBlock(y []float64, at []int) float64 {
	var d, buf []float64
	for k := 0; k+1 < len(at); k++ {
		buf = buf[:0]
		stride := 1 + (at[k+1]-at[k])/16
		for i := at[k]; i < at[k+1]; i += stride {
			if y[i] == y[i] {
				buf = append(buf, y[i])
			}
		}
		if len(buf) < 3 {
			continue
		}
		m := stat.Median(buf)
		for _, v := range buf {
			d = append(d, math.Abs(v-m))
		}
	}
	if len(d) == 0 {
		return 0
	}
	return 1.4826 * stat.Median(d)
}
