package usage

import "strings"

// Suggest is `; did you mean "x"?` for the known name nearest to name, or the
// list of all when nothing is near.
func Suggest(name string, known []string) string {
	best, distance := "", 1+max(2, len(name)/3)
	for _, k := range known {
		if d := editDistance(name, k); d < distance ||
			(best == "" && len(name) > 2 && strings.Contains(k, name)) {
			best, distance = k, d
		}
	}
	if best != "" {
		return `; did you mean "` + best + `"?`
	}
	return "; one of " + strings.Join(known, ", ")
}

// editDistance is the number of insertions, deletions, substitutions and
// swaps of neighbours that turn a into b (optimal string alignment).
func editDistance(a, b string) int {
	x, y := []rune(a), []rune(b)
	rows := make([][]int, len(x)+1)
	for i := range rows {
		rows[i] = make([]int, len(y)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(x); i++ {
		for j := 1; j <= len(y); j++ {
			change := 1
			if x[i-1] == y[j-1] {
				change = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(x)][len(y)]
}
