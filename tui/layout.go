package tui

// panelID names a panel that can have the focus.
type panelID int

// The panels in the order of their numbers.
const (
	panelAccounts panelID = iota
	panelVerdict
	panelProcesses
	panelSites
	panelPool
	panelEvents
	panelOutput
	panelHealth
	panelCount
)

var panelNames = [panelCount]string{"Accounts", "Verdict", "Processes", "Sites and holders", "Pool",
	"Events", "Output", "This tool"}

// place is where a panel stands, in cells.
type place struct {
	panel      panelID
	x, y, w, h int
}

const (
	headerHeight = 2
	footerHeight = 1
)

// layout is which panels stand where, a pure function of the size and of what
// has the focus. One column below 110 by 30 cells, two below 170 by 46, else
// all panels. A panel of the focus that has no place of its own takes the one
// kept for it, where otherwise below stands.
func layout(w, h int, focus, below panelID, maximised bool) []place {
	top, room := headerHeight, h-headerHeight-footerHeight
	switch {
	case w <= 0 || room <= 0:
		return nil
	case maximised:
		return []place{{focus, 0, top, w, room}}
	case w >= 170 && room >= 43:
		return wide(w, room, top)
	case w >= 110 && room >= 27:
		return middle(w, room, top, focus, below)
	}
	return narrow(w, room, top, focus)
}

// narrow has the verdict above the accounts, or above what has the focus.
func narrow(w, room, top int, focus panelID) []place {
	if room < 8 {
		return []place{{focus, 0, top, w, room}}
	}
	lower := focus
	verdict := min(max(room/4, 4), 8)
	if focus == panelVerdict {
		lower, verdict = panelAccounts, room/2
	}
	return []place{{panelVerdict, 0, top, w, verdict}, {lower, 0, top + verdict, w, room - verdict}}
}

// middle has the accounts beside the verdict, and below them what has the
// focus beside the events.
func middle(w, room, top int, focus, below panelID) []place {
	lower, side := below, panelEvents
	switch focus {
	case panelProcesses, panelSites, panelPool, panelOutput, panelHealth:
		lower = focus
	}
	left := (w - 1) * 3 / 5
	right := w - 1 - left
	upper := room * 3 / 5
	return []place{
		{panelAccounts, 0, top, left, upper}, {panelVerdict, left + 1, top, right, upper},
		{lower, 0, top + upper, left, room - upper}, {side, left + 1, top + upper, right, room - upper},
	}
}

// wide has them all.
func wide(w, room, top int) []place {
	left := (w - 1) / 2
	right := w - 1 - left
	upper, lower := room*11/20, 0
	lower = room - upper
	half := (right - 1) / 2
	verdict := upper * 3 / 5
	processes := lower * 3 / 5
	events := lower * 3 / 5
	pool := min(9, lower-events)
	return []place{
		{panelAccounts, 0, top, left, upper},
		{panelVerdict, left + 1, top, right, verdict},
		{panelSites, left + 1, top + verdict, right, upper - verdict},
		{panelProcesses, 0, top + upper, left, processes},
		{panelOutput, 0, top + upper + processes, left, lower - processes},
		{panelEvents, left + 1, top + upper, right, lower - pool},
		{panelPool, left + 1, top + upper + lower - pool, half, pool},
		{panelHealth, left + 1 + half + 1, top + upper + lower - pool, right - half - 1, pool},
	}
}

// at is the panel at a cell.
func at(places []place, x, y int) (place, bool) {
	for _, p := range places {
		if x >= p.x && x < p.x+p.w && y >= p.y && y < p.y+p.h {
			return p, true
		}
	}
	return place{}, false
}
