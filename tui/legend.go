package tui

import "github.com/gpumem/gpumem/internal/units"

// sign is a sign of the screen and what it means.
type sign struct {
	text  string
	token token
	means string
}

// signs are all that stand on the screen without a word beside them.
func (s *styles) signs() []sign {
	return []sign{
		{s.fill(seriesLive), live, "live: handed out, the program refers to it"},
		{s.fill(seriesIdle), idle, "idle: kept by a pool, nobody refers to it"},
		{s.fill(seriesUntracked), untracked, "untracked: the driver's, beyond live and idle"},
		{s.fill(seriesHost), host, "host: memory of the machine outside all of these"},
		{"Σ", plain, "a sum of accounts, as measured"},
		{"·", plain, "a part of an account"},
		{"▲", bad, "grows: the word beside it says whose it is"},
		{"✓", good, "nothing grows; of a run, it ended well"},
		{"?", warn, "undecided: what would settle it is said"},
		{"↑", plain, "this account is growing"},
		{"×", warn, "the run ended with an error or a signal"},
		{"●", good, "it is recorded or watched; in a list, it is shown"},
		{"○", warn, "no sample yet, or none lately"},
		{"▶", dim, "a playback"},
		{"▸", strong, "selected; in a title, it has the keys"},
		{"△", dim, "below a chart: a phase begins"},
		{"▲", dim, "below a chart: a mark of yours"},
		{"2│", warn, "the program wrote it to stderr"},
		{units.Unknown, dim, "not known, which is not 0"},
	}
}

// legend is a line a sign, or half a line where there is room.
func (p helpPanel) legend(w int) []string {
	columns := max(w/60, 1)
	list := p.signs()
	rows := (len(list) + columns - 1) / columns
	lines := []string{" " + p.paint(title, "signs")}
	for r := range rows {
		line := " "
		for c := range columns {
			if i := c*rows + r; i < len(list) {
				line += fit(" "+p.paint(list[i].token, fit(list[i].text, 3))+list[i].means, (w-1)/columns)
			}
		}
		lines = append(lines, line)
	}
	return lines
}
