package stat

import "math"

// Step is a rise of a counter from one row to the next that knows all: by how much, and by how much the sum of
// some series changed meanwhile.
type Step struct{ Count, Sum float64 }

// Steps are the rises of a counter, each with what some series together changed by. Rows in which any of them is
// unknown are passed over. Nil of series that have not as many rows as the counter.
func Steps(count []float64, parts ...[]float64) []Step {
	for _, p := range parts {
		if len(p) != len(count) {
			return nil
		}
	}
	var steps []Step
	known, last, before := false, 0., 0.
	for i, n := range count {
		sum := 0.
		for _, p := range parts {
			sum += p[i]
		}
		if math.IsNaN(n + sum) {
			continue
		}
		if known && n > last {
			steps = append(steps, Step{n - last, sum - before})
		}
		known, last, before = true, n, sum
	}
	return steps
}
