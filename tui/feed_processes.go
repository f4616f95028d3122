package tui

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// process is a process by its pid, made when new. The lock is held.
func (f *Feed) process(pid int) *tracked {
	if pid == 0 {
		pid = f.meta.PID
	}
	p := f.procs[pid]
	if p == nil {
		f.expire()
		p = newTracked(pid, roomOf(len(f.pids)))
		if f.o.NameOf != nil && pid != 0 {
			p.name = clean(f.o.NameOf(pid))
		}
		f.procs[pid] = p
		f.insert(pid)
	}
	return p
}

// endedProcess reports whether a process has ended: somebody said so, or others
// had rows for long since its last. The lock is held.
func (f *Feed) endedProcess(p *tracked) bool {
	quiet := math.Max(float64(silentAfter/time.Millisecond), 3*f.meta.IntervalMs)
	return p.gone || p.pid != f.meta.PID && f.elapsed-p.lastMs > quiet
}

// expire forgets processes that ended first, when too many have. The lock is
// held.
func (f *Feed) expire() {
	if len(f.pids) <= keptEnded {
		return
	}
	var ended []*tracked
	for _, p := range f.procs {
		if f.endedProcess(p) {
			ended = append(ended, p)
		}
	}
	slices.SortFunc(ended, func(a, b *tracked) int { return cmp.Or(cmp.Compare(a.lastMs, b.lastMs), a.pid-b.pid) })
	for _, p := range ended[:max(len(ended)-keptEnded, 0)] {
		f.forget(p.pid)
	}
}

func (f *Feed) insert(pid int) {
	i, _ := slices.BinarySearch(f.pids, pid)
	f.pids = slices.Insert(f.pids, i, pid)
}

// Name gives a process a name.
func (f *Feed) Name(pid int, name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.process(pid).name = clean(name)
}

// Gone says that a process has ended. What is known of it stays on the screen
// until Forget.
func (f *Feed) Gone(pid int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.procs[pid]; p != nil {
		p.gone = true
	}
}

// Forget drops a process.
func (f *Feed) Forget(pid int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forget(pid)
}

func (f *Feed) forget(pid int) {
	delete(f.procs, pid)
	f.pids = slices.DeleteFunc(f.pids, func(p int) bool { return p == pid })
	f.watch.forget(pid)
}
