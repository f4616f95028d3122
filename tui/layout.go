package tui

import "slices"

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
	panelComposition // of a run
	panelDevices     // of the machine, in its place
	panelCount
)

var panelNames = [panelCount]string{"Accounts", "Verdict", "Processes", "Sites and holders", "Pool",
	"Events", "Output", "This tool", "Live memory", "Devices"}

// place is where a panel stands, in cells.
type place struct {
	panel      panelID
	x, y, w, h int
}

const (
	headerHeight = 2
	footerHeight = 1
)

// needs is how many lines a panel would fill at a width, its title counted; 0 is a
// panel that has nothing to show. It gets a place when it has the focus only.
type needs func(id panelID, w int) int

// endless is what a chart needs.
const endless = 1 << 20

// chosen is what a person chose of the panels.
type chosen struct {
	focus     panelID
	below     panelID // under the accounts when the focus does not say
	maximised bool
	machine   bool // the processes of the machine are watched
}

// layout is which panels stand where, a pure function of the size, of what has the
// focus and of what there is to show. One column below 110 by 30 cells, two
// columns above. The verdict is always there: where there is no room for its panel,
// or one panel is alone, as a line.
func layout(w, h int, c chosen, need needs) []place {
	focus := c.focus
	top, room := headerHeight, h-headerHeight-footerHeight
	switch {
	case w <= 0 || room <= 0:
		return nil
	case focus == panelVerdict && (c.maximised || room < 8), room < 3:
		return []place{{focus, 0, top, w, room}}
	case c.maximised || room < 8:
		return []place{{panelVerdict, 0, top, w, 1}, {focus, 0, top + 1, w, room - 1}}
	case w >= 170 && room >= 43:
		return wide(w, room, top, focus, need)
	case w >= 110 && room >= 27:
		return middle(w, room, top, c, need)
	}
	return narrow(w, room, top, focus, need)
}

// slot is a panel of a column: least lines make it worth a place, and of the room
// that is left it takes a part by weight, as long as it needs more.
type slot struct {
	panel         panelID
	least, weight int
}

// column places panels under each other. Those that have nothing to show are left out,
// and where room is short those of the least weight; the focus stays.
func column(x, y, w, h int, slots []slot, focus panelID, need needs) []place {
	slots = slices.DeleteFunc(slots, func(s slot) bool { return s.panel != focus && need(s.panel, w) == 0 })
	if len(slots) == 0 || h <= 0 {
		return nil
	}
	for leastLines(slots) > h && len(slots) > 1 {
		least := -1
		for i, s := range slots {
			if s.panel != focus && (least < 0 || s.weight < slots[least].weight) {
				least = i
			}
		}
		slots = slices.Delete(slots, least, least+1)
	}
	wants := func(s slot) int { // one that has the focus says in some lines why it has nothing
		if n := need(s.panel, w); n > 0 {
			return n
		}
		return s.least + 2
	}
	heights := make([]int, len(slots))
	left := h
	for i, s := range slots {
		heights[i] = min(s.least, max(wants(s), 2), left)
		left -= heights[i]
	}
	for ; left > 0; left-- {
		next := -1
		for i, s := range slots {
			if heights[i] < wants(s) &&
				(next < 0 || heights[i]*slots[next].weight < heights[next]*s.weight) {
				next = i
			}
		}
		if next < 0 { // all have what they need: what is left stays free at the foot
			next = len(slots) - 1
		}
		heights[next]++
	}
	var out []place
	for i, s := range slots {
		out = append(out, place{s.panel, x, y, w, heights[i]})
		y += heights[i]
	}
	return out
}

// filled has more panels below where those that are there leave room for them.
func filled(w, h int, slots []slot, focus panelID, need needs, more ...slot) []slot {
	for _, s := range slots {
		if s.panel == focus || need(s.panel, w) > 0 {
			h -= min(max(need(s.panel, w), 2), endless)
		}
	}
	for _, s := range more {
		has := slices.ContainsFunc(slots, func(o slot) bool { return o.panel == s.panel })
		if n := need(s.panel, w); !has && n > 0 && min(n, s.least) <= h {
			slots, h = append(slots, s), h-n
		}
	}
	return slots
}

func leastLines(slots []slot) int {
	n := 0
	for _, s := range slots {
		n += s.least
	}
	return n
}

// narrow has the verdict above the accounts, or above what has the focus.
func narrow(w, room, top int, focus panelID, need needs) []place {
	slots := []slot{{panelDevices, 3, 2}, {panelVerdict, 4, 3}, {focus, 6, 9}, {panelOutput, 4, 1}}
	switch focus {
	case panelVerdict:
		slots = []slot{{panelVerdict, 6, 9}, {panelAccounts, 6, 6}}
	case panelDevices:
		slots = []slot{{panelDevices, 5, 9}, {panelVerdict, 4, 3}}
	case panelOutput:
		slots = slots[:3]
	}
	slots = filled(w, room, slots, focus, need, slot{panelAccounts, 7, 1})
	return column(0, top, w, room, slots, focus, need)
}

// middle has the accounts over what has the focus, beside the verdict over what the
// program tells and writes. Of a machine the devices and the processes come first, in
// the whole width.
func middle(w, room, top int, c chosen, need needs) []place {
	focus, lower := c.focus, c.below
	switch focus {
	case panelProcesses, panelPool, panelHealth, panelDevices:
		lower = focus
	}
	var out []place
	if c.machine {
		out = column(0, top, w, min(need(panelDevices, w)+need(panelProcesses, w), room/2),
			[]slot{{panelDevices, 3, 1}, {panelProcesses, 3, 2}}, focus, need)
		if lower == panelProcesses || lower == panelDevices {
			lower = panelPool
		}
	}
	for _, p := range out {
		top, room = top+p.h, room-p.h
	}
	left := (w - 1) * 3 / 5
	right := w - 1 - left
	out = append(out, column(0, top, left, room, []slot{{panelAccounts, 11, 3}, {lower, 5, 2}},
		focus, need)...)
	beside := []slot{{panelVerdict, 9, 9}, {panelComposition, 4, 5}, {panelSites, 4, 3}, {panelOutput, 4, 4},
		{panelEvents, 4, 2}}
	for _, s := range []slot{{panelPool, 5, 1}, {panelHealth, 6, 1}} {
		if s.panel != lower {
			beside = filled(right, room, beside, focus, need, s)
		}
	}
	return append(out, column(left+1, top, right, room, beside, focus, need)...)
}

// wide has them all.
func wide(w, room, top int, focus panelID, need needs) []place {
	left := (w - 1) / 2
	right := w - 1 - left
	out := column(0, top, left, room, []slot{{panelDevices, 3, 2}, {panelAccounts, 14, 9},
		{panelProcesses, 6, 4}, {panelOutput, 5, 3}}, focus, need)
	return append(out, column(left+1, top, right, room,
		[]slot{{panelVerdict, 12, 12}, {panelComposition, 4, 7}, {panelSites, 5, 5}, {panelEvents, 5, 3},
			{panelPool, 7, 2}, {panelHealth, 6, 1}}, focus, need)...)
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
