package looks

import "math"

// Creep is what came of a place by the looks, so evenly that what comes and goes beside it
// hides it from the sum and not from its own count.
type Creep struct {
	Blocks, Bytes float64 // that it held more at the last look
	Rate          float64 // bytes a second
}

// leastLater is the part of what came that must have come in the second half of the time: a
// set that filled in the first has less.
const leastLater = .4

// Creeps is what came between the last looks at a place, where it came evenly to within one
// block; false of another. Few blocks come at any rate: how many are enough is the caller's to
// say.
func (c *SiteCourse) Creeps() (Creep, bool) {
	n := len(c.At) - 1
	first := n - KeepingGenerations
	if first < 0 || c.Handles() {
		return Creep{}, false
	}
	blocks := func(i int) float64 { return float64(c.Sites[i].Count) }
	lasted := c.At[n] - c.At[first]
	out := Creep{Blocks: blocks(n) - blocks(first), Bytes: c.Amount(n) - c.Amount(first)}
	if out.Blocks <= 0 || out.Bytes <= 0 || lasted <= 0 {
		return Creep{}, false
	}
	out.Rate = out.Bytes / lasted
	later := 0.
	for i := first + 1; i <= n; i++ {
		came, took := blocks(i)-blocks(i-1), c.At[i]-c.At[i-1]
		if came < 0 || math.Abs(came-out.Blocks*took/lasted) > math.Max(1, came*evenly) {
			return Creep{}, false
		}
		if middle := (c.At[i] + c.At[i-1]) / 2; middle > c.At[first]+lasted/2 {
			later += came
		}
	}
	return out, later >= leastLater*out.Blocks
}
