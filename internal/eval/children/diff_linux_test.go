package children

import (
	"slices"
	"strings"
)

// diff is the shortest list of lines that only one of two records has, in
// order: "-" before those of the first, "+" before those of the second.
func diff(a, b []string) []string {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	common := make([][]int32, len(a)+1) // length of the longest common sequence from i, j on
	for i := range common {
		common[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var out []string
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			i, j = i+1, j+1
		case common[i+1][j] >= common[i][j+1]:
			out, i = append(out, "-"+a[i]), i+1
		default:
			out, j = append(out, "+"+b[j]), j+1
		}
	}
	for ; i < len(a); i++ {
		out = append(out, "-"+a[i])
	}
	for ; j < len(b); j++ {
		out = append(out, "+"+b[j])
	}
	return out
}

// sortStreams sorts the lines of each stream of a record among themselves.
func sortStreams(record []string) {
	stream := func(line string) string {
		name, _, _ := strings.Cut(line, ": ")
		return name
	}
	for from := 0; from < len(record); {
		to := from + 1
		for to < len(record) && stream(record[to]) == stream(record[from]) {
			to++
		}
		slices.Sort(record[from:to])
		from = to
	}
}
