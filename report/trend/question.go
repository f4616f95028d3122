package trend

import "math"

// Question is what a series is asked.
type Question struct {
	Delta float64 // smallest growth that matters
	Share float64 // part of a block's samples, from the lowest, that stands for it; 0 is the median
	Net   float64 // part of the growth that must be left when what fell is counted in
	Conditions
}

// Conditions a growth must meet. They were tuned on the corpus's tuning
// seeds; the scoreboard states what they cost and catch on others.
type Conditions struct {
	full float64 // level of the trend test over the whole window
	late float64 // and over the window's last parts
	far  float64 // and over either for a growth far above the noise, in multiples
	t    float64 // slope over its error, beside jumps and a transient
	tail float64 // part of the slope that the last quarter may still have
}

// ForReport are the conditions for one verdict on one run.
func ForReport() Conditions { return Conditions{full: .0005, late: .0001, far: 20, t: 4, tail: .45} }

// ForLook are the conditions of one of many looks, at a level of its own.
func ForLook(level float64) Conditions {
	return Conditions{full: math.Min(level, .001), late: math.Min(level, .0001), far: 10, t: 5, tail: .5}
}
