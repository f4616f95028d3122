package tui

// needsOf says what the panels have to show of a frame. What it computes it keeps: a
// layout asks again and again.
func needsOf(s *styles, f *Frame) needs {
	type question struct {
		id panelID
		w  int
	}
	told := map[question]int{}
	return func(id panelID, w int) int {
		n, ok := told[question{id, w}]
		if !ok {
			n = linesOf(s, f, id, w)
			told[question{id, w}] = n
		}
		return n
	}
}

// linesOf is how many lines a panel fills at a width, with its title; 0 when it has
// nothing to show.
func linesOf(s *styles, f *Frame, id panelID, w int) int {
	some := func(n, around int) int {
		if n == 0 {
			return 0
		}
		return n + around
	}
	switch id {
	case panelVerdict:
		return len(verdictPanel{s, f, false, 0}.lines(max(w-2, 1))) + 1
	case panelProcesses:
		return len(f.Processes) + 2
	case panelSites:
		return some(len(sitesPanel{s, f, false, 0, false}.told(w)), 1)
	case panelComposition:
		return some(len(compositionPanel{s, f, false, 0, false}.lines(w)), 1)
	case panelPool:
		if !f.tellsPool() {
			return 0
		}
		return len(poolPanel{s, f, false}.body(w)) + 1
	case panelEvents:
		return some(len(f.Events), 1)
	case panelOutput:
		return some(len(f.Output), 1)
	case panelHealth:
		return healthLines + 1
	case panelDevices:
		return some(len(f.Machine), 2)
	}
	return endless
}
