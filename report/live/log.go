package live

import "github.com/gpumem/gpumem/tracer/record"

// mostEvents bounds the events that are kept for the engine.
const mostEvents = 10_000

// mostLists is how many lists of a kind are kept of a process: a verdict compares what
// several looks in a row found.
const mostLists = 8

// log is the events that a verdict may rest on. Steps are left out, since rows have
// them; details that no verdict reads are not kept; of the lists of a process the
// latest are. When it is full the older half of the marks goes, of which a program may
// set any number.
type log struct{ events []record.Event }

func (l *log) add(e record.Event) {
	if e.Kind == record.KindStep {
		return
	}
	if e.Kind != record.KindGenerations && e.Kind != record.KindClones && e.Kind != record.KindHostSites &&
		e.Kind != record.KindBlockSites {
		e.Detail = nil
	}
	if isList(&e) {
		l.replace(&e)
	}
	if l.events = append(l.events, e); len(l.events) > mostEvents {
		l.thin()
	}
}

// isList reports whether an event tells one list of several in a row.
func isList(e *record.Event) bool { return len(e.Sites)+len(e.Holders)+len(e.Detail) > 0 }

// replace empties the oldest list of as many as are kept, which a newer one pushes out.
func (l *log) replace(e *record.Event) {
	seen := 1
	for i := len(l.events) - 1; i >= 0; i-- {
		old := &l.events[i]
		if old.Kind != e.Kind || old.PID != e.PID || old.Name != e.Name || !isList(old) {
			continue
		}
		if seen++; seen > mostLists {
			old.Sites, old.Holders, old.Detail = nil, nil, nil
			return
		}
	}
}

// thin makes room.
func (l *log) thin() {
	kept := l.events[:0]
	for i, e := range l.events {
		if i >= mostEvents/2 || isEvidence(e.Kind) {
			kept = append(kept, e)
		}
	}
	if len(kept) > mostEvents { // nothing but evidence: the oldest goes
		kept = append(kept[:0], kept[len(kept)-mostEvents/2:]...)
	}
	clear(l.events[len(kept):])
	l.events = kept
}

// isEvidence reports whether a verdict may rest on events of a kind.
func isEvidence(kind string) bool {
	switch kind {
	case record.KindPhase, record.KindReceipt, record.KindSites, record.KindHolders, record.KindDriverSites,
		record.KindFirstTouch, record.KindProcess, record.KindWarning,
		record.KindClones, record.KindGenerations, record.KindHostSites, record.KindBlockSites:
		return true
	}
	return false
}

// of are the events of a process, and of the run.
func (l *log) of(pid int) (list []record.Event) {
	for _, e := range l.events {
		if e.PID == 0 || e.PID == pid {
			list = append(list, e)
		}
	}
	return list
}
