package tui

import "github.com/gpumem/gpumem/internal/units"

// field is a column of a list of T: its head, its width, where it stands in it, and its
// text.
type field[T any] struct {
	head  string
	width int
	left  bool
	text  func(*T) string
}

// told reports whether the column says anything of any row: one of dashes says nothing.
func (f *field[T]) told(rows []T) bool {
	for i := range rows {
		if text := f.text(&rows[i]); text != "" && text != units.Unknown {
			return true
		}
	}
	return false
}

// fitting are the columns that say something and have room, each with a gap beside it.
// Those of first, by number, have room first; the columns stay in their order.
func fitting[T any](all []field[T], rows []T, first []int, room, gap int) (out []field[T]) {
	taken := map[int]bool{}
	for _, i := range first {
		if all[i].told(rows) && room >= all[i].width+gap {
			room, taken[i] = room-all[i].width-gap, true
		}
	}
	for i := range all {
		if taken[i] {
			out = append(out, all[i])
		}
	}
	return out
}
