package tui

import liveset "github.com/gpumem/gpumem/report/live"

// nameOf is FeedOptions.NameOf with names that are fit to be shown.
func (f *Feed) nameOf() func(int) string {
	if f.o.NameOf == nil {
		return nil
	}
	return func(pid int) string { return clean(f.o.NameOf(pid)) }
}

// track is what the screen keeps of a process, made when new. The lock is held.
func (f *Feed) track(p *liveset.Process) *tracked {
	if p.View == nil {
		p.View = newTracked(p, roomOf(f.live.Len()-1))
	}
	return p.View.(*tracked)
}

// of is what the screen keeps of the process of a pid, nil when there is none. The
// lock is held.
func (f *Feed) of(pid int) *tracked {
	if p := f.live.Of(pid); p != nil {
		return f.track(p)
	}
	return nil
}

// Name gives a process a name.
func (f *Feed) Name(pid int, name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live.Process(pid).Name = clean(name)
}

// Gone says that a process has ended. What is known of it stays on the screen
// until Forget.
func (f *Feed) Gone(pid int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.live.Of(pid); p != nil {
		p.Gone = true
	}
}

// Forget drops a process.
func (f *Feed) Forget(pid int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live.Forget(pid)
}

// Round says that each process that is watched has had its row.
func (f *Feed) Round() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live.Round()
}
