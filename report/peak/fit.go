package peak

import (
	"fmt"
	"math"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/tracer/record"
)

// Need is what a recorded program needs of a device, in bytes. The truth lies
// between Least, were its pool to give back all that is idle, and Most, what it had
// of the device. A nil pointer is unknown.
type Need struct {
	Live   int64  `json:"live_bytes"`             // at the peak
	Pool   *int64 `json:"pool_bytes,omitempty"`   // live and idle, at most
	Beside *int64 `json:"beside_bytes,omitempty"` // of the driver beyond the pool, at most
	Least  int64  `json:"least_bytes"`
	Most   int64  `json:"most_bytes"`
	// Sampled is set when Live was seen at samples only: between two of them more may
	// have lived, though never more than Pool.
	Sampled bool `json:"sampled,omitempty"`
	// Cut is set when the run ended because it was refused memory of the device: Least has
	// what it asked for then, and what it would have needed after that is not known.
	Cut bool `json:"cut,omitempty"`
}

// NeedOf reads what a run needed. It reports false for one that told no live bytes.
func NeedOf(run *record.Run, p *Peak) (Need, bool) {
	n := Need{Sampled: true}
	if run.Samples == nil {
		return n, false
	}
	live, idle, gpu := run.Samples.Column(record.ColLive), run.Samples.Column(record.ColIdle),
		run.Samples.Column(record.ColGPU)
	for i, v := range live {
		if record.IsUnknown(v) {
			continue
		}
		n.Live = max(n.Live, int64(v))
		if i < len(idle) && !record.IsUnknown(idle[i]) {
			pool := int64(v + idle[i])
			n.Pool = atLeast(n.Pool, pool)
			if i < len(gpu) && !record.IsUnknown(gpu[i]) {
				n.Beside = atLeast(n.Beside, max(int64(gpu[i])-pool, 0))
			}
		}
	}
	if p != nil {
		n.Sampled = false
		n.Live = max(n.Live, p.Bytes)
		if p.Allocator != nil {
			n.Live = max(n.Live, *p.Allocator)
		}
	}
	if n.Live <= 0 {
		return n, false
	}
	beside := int64(0)
	if n.Beside != nil {
		beside = *n.Beside
	}
	if asked := refusedOf(run); asked > n.Live {
		n.Live, n.Cut = asked, true
	}
	n.Least, n.Most = n.Live+beside, n.Live+beside
	if n.Pool != nil {
		n.Most = max(*n.Pool+beside, n.Least)
	}
	return n, true
}

// refusedOf is what was live when a device refused the run what ended it, and what was
// asked for; 0 of a run that did not end so.
func refusedOf(run *record.Run) int64 {
	o := OutOfMemory(run, Growth{})
	if o == nil || !o.Died || o.LiveBytes == nil || o.AskedBytes == nil {
		return 0
	}
	return *o.LiveBytes + *o.AskedBytes
}

func atLeast(sum *int64, v int64) *int64 {
	if sum == nil || *sum < v {
		return &v
	}
	return sum
}

// Fits says whether a need fits so many bytes: it does (1), it does not (-1), or it
// depends on what the pool gives back (0). The sentence has the numbers.
func (n *Need) Fits(memory int64) (answer int, sentence string) {
	switch {
	case n.Cut && n.Least <= memory:
		return 0, fmt.Sprintf("whether it fits %s is not known: the run ended when memory ran out. It needs "+
			"%s at least; the rest of the program never ran.", units.Bytes(memory), units.Bytes(n.Least))
	case n.Most <= memory:
		return 1, fmt.Sprintf("it fits %s: it needs at most %s, %s are left.", units.Bytes(memory),
			units.Bytes(n.Most), units.Bytes(memory-n.Most))
	case n.Least > memory:
		return -1, fmt.Sprintf("it does not fit %s: it needs at least %s, %s too much.", units.Bytes(memory),
			units.Bytes(n.Least),
			units.Bytes(n.Least-memory))
	}
	return 0, fmt.Sprintf("it fits %s only if its pool gives back %s of its %s of idle memory: it needs "+
		"%s to %s.",
		units.Bytes(memory), units.Bytes(n.Most-memory), units.Bytes(n.Most-n.Least), units.Bytes(n.Least),
		units.Bytes(n.Most))
}

// Batch is the largest batch that fits, in proportion to what runs of several sizes
// needed: Least by what they had of the device, Most by what they needed at least.
type Batch struct {
	Least int64 `json:"least"`
	Most  int64 `json:"most"`
	// PerItem is what one more of the batch needs, Fixed what none needs; by Need.Most.
	PerItem int64 `json:"bytes_an_item"`
	Fixed   int64 `json:"fixed_bytes"`
	// Off is by how much a run differs from the line at most, 0 with two runs.
	Off int64 `json:"off_bytes,omitempty"`
}

// BatchOf fits a line through needs of runs with batches of those sizes, at least two
// different ones, and returns what fits so many bytes. It reports false where the need
// does not grow with the batch.
func BatchOf(batches []int64, needs []Need, memory int64) (Batch, bool) {
	most, ok := lineThrough(batches, needs, func(n Need) int64 { return n.Most })
	least, fine := lineThrough(batches, needs, func(n Need) int64 { return n.Least })
	if !ok || !fine {
		return Batch{}, false
	}
	a, b := most.at(memory), least.at(memory)
	return Batch{Least: min(a, b), Most: max(a, b), PerItem: int64(math.Round(most.slope)),
		Fixed: int64(math.Round(most.fixed)), Off: int64(math.Round(most.off))}, true
}

// straight is a line: bytes by batch.
type straight struct{ fixed, slope, off float64 }

// at is the largest batch that a number of bytes holds; what the runs are off the
// line is kept free.
func (s straight) at(memory int64) int64 {
	return int64(max(math.Floor((float64(memory)-s.off-s.fixed)/s.slope+1e-9), 0))
}

func lineThrough(batches []int64, needs []Need, of func(Need) int64) (straight, bool) {
	n := float64(len(batches))
	if len(batches) < 2 || len(batches) != len(needs) {
		return straight{}, false
	}
	var sx, sy, sxx, sxy float64
	for i, b := range batches {
		x, y := float64(b), float64(of(needs[i]))
		sx, sy, sxx, sxy = sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	spread := n*sxx - sx*sx
	if spread <= 0 {
		return straight{}, false
	}
	s := straight{slope: (n*sxy - sx*sy) / spread}
	s.fixed = (sy - s.slope*sx) / n
	if len(batches) > 2 {
		for i, b := range batches {
			s.off = max(s.off, math.Abs(float64(of(needs[i]))-s.fixed-s.slope*float64(b)))
		}
	}
	return s, s.slope > 0
}
