package trend

// What a series may be explained by: how far something else had advanced in each
// of its blocks.
const (
	// Unexplained is the part of a growth's variation that any fit may leave.
	Unexplained = .0003
	// Alike is how much worse than the best fit's another fit's squares may be
	// for the two not to be told apart.
	Alike = 1.15
)

// Progress is how far a running total had advanced in each block of rows; nil
// when it is unknown in one, falls, or does not rise.
func Progress(total []float64, rows [][]int) []float64 {
	if total == nil {
		return nil
	}
	x := BlockMeans(total, rows)
	for i := 1; i < len(x); i++ {
		if x[i] < x[i-1] {
			return nil
		}
	}
	if len(x) == 0 || !(x[len(x)-1] > x[0]) {
		return nil
	}
	return x
}
