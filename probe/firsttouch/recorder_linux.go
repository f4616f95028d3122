package firsttouch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"
)

// mapsAge is how old the known mappings may grow before they are read again
// though nothing was amiss: a library may have taken another's place.
const mapsAge = 2 * time.Second

// restCycle is how many intervals a window and the rest after it take together:
// opening and closing an event takes 0.1 to 0.2 ms of its thread's time
// (BenchmarkOpeningAnEvent), so it is done at most 2.5 times a second.
const restCycle = 8

// firstWindow is how long the events are there before anything is known of the
// target's rate of faults.
const firstWindow = 5 * time.Millisecond

// mostPauses is how many cycles a pause may last after a window that was
// longer than meant, as on a machine that has too much to do.
const mostPauses = 3

// leastBusy bounds the share of a processor that a target is taken to have: its
// times have a coarse unit.
const leastBusy = .05

// Recorder is a recording under way. Stop ends it; it is safe for concurrent
// use.
type Recorder struct {
	pid     int
	o       Options
	opener  opener
	stop    chan struct{}
	stopped sync.Once
	done    chan struct{}
	report  Report // valid after done is closed

	// The rest belongs to the goroutine.
	threads  map[int]*thread
	refused  map[int]bool // threads that could not be followed
	followed int
	atStart  int // of these, followed from the start
	begun    time.Time
	tally    *tally
	decoder  decoder
	space    *space
	spaceAt  time.Time
	reread   bool          // the mappings were read again in this pass
	on       time.Duration // of each cycle that events are there; cycle is always
	cycle    time.Duration
	pause    time.Duration // from one window to the next; at least a cycle
	window   time.Duration // how long the last one really was
	since    time.Time     // events are there; zero when they are not
	watched  time.Duration // events were there before that
	thinned  time.Time
	busy     float64 // share of a processor that the target has, lately
	before   snapshot
	last     snapshot
	buffer   []byte
}

// thread is one followed thread.
type thread struct {
	ring    *ring // nil between two windows
	counted bool  // in Recorder.followed
	period  uint64
	seen    uint64  // samples since the last interval, lost ones included
	rate    float64 // faults a second
}

// start opens events for all threads and starts the goroutine.
func start(pid int, o Options) (*Recorder, error) {
	if err := checkProcess(pid); err != nil {
		return nil, err
	}
	r := &Recorder{pid: pid, o: o, stop: make(chan struct{}), done: make(chan struct{}),
		threads: make(map[int]*thread), refused: make(map[int]bool), tally: newTally(), space: &space{}}
	var err error
	if r.before, err = takeSnapshot(pid); err != nil {
		return nil, &Error{Op: fmt.Sprintf("watch process %d", pid), Text: "it has ended", is: fs.ErrNotExist}
	}
	r.last = r.before
	r.opener = newOpener(o)
	if err := r.follow(); err != nil {
		return nil, err
	}
	if err := r.attach(); err != nil {
		r.closeRings()
		return nil, err
	}
	r.atStart = r.followed
	r.readSpace()
	r.begun = time.Now()
	r.thinned, r.cycle, r.busy = r.begun, restCycle*o.Interval, 1
	r.on, r.pause = r.cycle, r.cycle
	if o.Period == 0 {
		r.on = min(firstWindow, r.cycle)
	}
	go r.work()
	return r, nil
}

// Stop ends the recording and returns what it saw; further calls return the
// same.
func (r *Recorder) Stop() Report {
	r.stopped.Do(func() { close(r.stop) })
	<-r.done
	return r.report
}

// Done is closed when the recording is over, also because the process ended.
func (r *Recorder) Done() <-chan struct{} { return r.done }

// work empties the rings until Stop or the end of the process.
func (r *Recorder) work() {
	defer close(r.done)
	defer r.closeRings()
	tick := time.NewTicker(r.o.Interval)
	defer tick.Stop()
	for r.pass() {
		select {
		case <-r.stop:
			r.drain()
			r.finish()
			return
		case <-tick.C:
		}
	}
	r.report.Ended = true
	r.finish()
}

// pass empties the rings, after a window where events are not there always. It
// returns false when the process has ended.
func (r *Recorder) pass() bool {
	if r.on < r.cycle && r.since.IsZero() && time.Since(r.thinned) < r.pause {
		return true // nothing is there to be drained
	}
	r.watch()
	r.drain()
	r.rest()
	s, err := takeSnapshot(r.pid)
	if err != nil {
		return false
	}
	r.thin(s)
	r.last = s
	// A thread that cannot be followed is counted; the others go on.
	_ = r.follow()
	r.stay()
	return true
}

// watch lets the events be there for a window, where they are not always.
func (r *Recorder) watch() {
	if r.on == r.cycle {
		return
	}
	// Of a thread that cannot be watched any more the others tell.
	_ = r.attach()
	t := time.NewTimer(r.on)
	defer t.Stop()
	select {
	case <-t.C:
	case <-r.stop:
	}
}

// rest closes the events until the next window. They are not merely turned
// off: that one exists at all costs every fault of the machine. A window that
// became longer than meant is paid for by a longer pause.
func (r *Recorder) rest() {
	if r.on == r.cycle || r.since.IsZero() {
		return
	}
	for _, t := range r.threads {
		r.closeRing(t)
	}
	r.window = r.pauseClock()
	owed := time.Duration(float64(r.cycle) * float64(r.window) / float64(r.on))
	r.pause = min(max(owed, r.cycle), mostPauses*r.cycle)
}

// stay opens the events that are to be there always.
func (r *Recorder) stay() {
	if r.on == r.cycle {
		_ = r.attach() // see watch
	}
}

// pauseClock ends the time that events are there and returns it.
func (r *Recorder) pauseClock() time.Duration {
	if r.since.IsZero() {
		return 0
	}
	d := time.Since(r.since)
	r.watched, r.since = r.watched+d, time.Time{}
	return d
}

// follow takes threads in that are new, and drops those that have ended.
func (r *Recorder) follow() error {
	tids, err := threadsOf(r.pid)
	if err != nil {
		return &Error{Op: fmt.Sprintf("watch process %d", r.pid), Text: "it has ended", is: fs.ErrNotExist}
	}
	slices.Sort(tids)
	for _, tid := range tids {
		if r.threads[tid] == nil && !r.refused[tid] {
			r.threads[tid] = &thread{period: r.opener.period}
		}
	}
	for tid, t := range r.threads {
		if _, alive := slices.BinarySearch(tids, tid); !alive {
			r.drainThread(t)
			r.closeRing(t)
			delete(r.threads, tid)
		}
	}
	return nil
}

// attach opens events for the threads that have none. Its error is that of the
// first refusal, if no thread at all can be followed.
func (r *Recorder) attach() error {
	var first error
	for tid, t := range r.threads {
		if t.ring != nil {
			continue
		}
		ring, err := r.opener.open(r.pid, tid, t.period)
		if err != nil {
			delete(r.threads, tid)
			if errors.Is(err, fs.ErrNotExist) {
				continue // it ended meanwhile
			}
			r.refused[tid] = true
			r.report.Unfollowed++
			if first == nil {
				first = err
			}
			continue
		}
		t.ring = ring
		if !t.counted {
			t.counted = true
			r.followed++
		}
	}
	if r.since.IsZero() {
		r.since = time.Now()
	}
	if len(r.threads) == 0 && first != nil {
		return first
	}
	return nil
}

// closeRing closes the events of a thread, if it has any.
func (r *Recorder) closeRing(t *thread) {
	if t.ring != nil {
		t.ring.close()
		t.ring = nil
	}
}

// drain empties all rings.
func (r *Recorder) drain() {
	r.reread = false
	if time.Since(r.spaceAt) > mapsAge {
		r.readSpace()
	}
	for _, t := range r.threads {
		r.drainThread(t)
	}
}

// drainThread empties one ring. The records are copied out first, so that the
// kernel gets its room back at once.
func (r *Recorder) drainThread(t *thread) {
	if t.ring == nil {
		return
	}
	r.buffer = t.ring.take(r.buffer[:0])
	if len(r.buffer) == 0 {
		return
	}
	lost, samples := r.decoder.lost, r.tally.samples
	r.decoder.layout = t.ring.layout
	if !r.reread && r.stale(r.buffer) {
		r.reread = true
		r.readSpace()
	}
	r.decoder.each(r.buffer, func(x *sample) { r.tally.add(x, r.space, t.period) })
	t.seen += r.tally.samples - samples + r.decoder.lost - lost
}

// stale reports whether a touching code lies outside every known mapping, as
// after a library was loaded.
func (r *Recorder) stale(b []byte) bool {
	stale := false
	probe := decoder{layout: r.decoder.layout}
	probe.each(b, func(x *sample) {
		if len(x.frames) > 0 && r.space.code(x.frames[0]) == nil {
			stale = true
		}
	})
	return stale
}

// thin chooses anew how long events are there and how many faults make a sample,
// from the rates since the last time.
func (r *Recorder) thin(s snapshot) {
	now := time.Now()
	elapsed := now.Sub(r.thinned)
	r.thinned = now
	if r.o.Period > 0 || elapsed <= 0 || len(r.threads) == 0 {
		return
	}
	seen := elapsed
	if r.on < r.cycle {
		seen = max(r.window, minWindow)
	}
	// The kernel's count sees what fell between two windows.
	busiest := float64(s.faults-min(r.last.faults, s.faults)) / elapsed.Seconds() / float64(len(r.threads))
	for _, t := range r.threads {
		t.rate = float64(t.seen) * float64(t.period) / seen.Seconds()
		t.seen = 0
		busiest = max(busiest, t.rate)
	}
	// The share is of the time that the target runs: of one that waits for a
	// processor less may be taken.
	r.busy = (r.busy + min(max((s.busy-r.last.busy).Seconds()/elapsed.Seconds(), leastBusy), 1)) / 2
	share := r.o.MaxShare * r.busy
	r.on = window(busiest, r.cycle, share)
	for _, t := range r.threads {
		next := nextPeriod(t.rate, r.on, r.cycle, share)
		if next != t.period && (t.ring == nil || t.ring.setPeriod(next) == nil) {
			t.period = next
		}
	}
	if r.on < r.cycle {
		r.rest()
	}
}

// readSpace reads the target's mappings. When that fails (it has ended) the
// old ones stay.
func (r *Recorder) readSpace() {
	f, err := os.Open(proc.Path(r.pid, "maps"))
	if err != nil {
		return
	}
	defer f.Close()
	exe, _ := os.Readlink(proc.Path(r.pid, "exe"))
	if s, err := parseSpace(f, exe, r.o.Skip); err == nil && len(s.segments) > 0 {
		r.space, r.spaceAt = s, time.Now()
	}
}

// finish makes the report.
func (r *Recorder) finish() {
	if s, err := takeSnapshot(r.pid); err == nil {
		r.last = s
	} else {
		r.report.Ended = true
	}
	p := &r.report
	p.PID, p.Duration = r.pid, time.Since(r.begun)
	r.pauseClock()
	p.Watched = min(r.watched.Seconds()/p.Duration.Seconds(), 1)
	p.Samples, p.Lost, p.UserOnly = r.tally.samples, r.decoder.lost, r.opener.userOnly
	p.Threads, p.NewThreads = r.followed, r.followed-r.atStart
	if r.last.faults > r.before.faults {
		p.Faults = r.last.faults - r.before.faults
	}
	if p.Ended { // its last faults are in the samples only
		p.Faults = max(p.Faults, r.tally.weight)
	}
	page := int64(os.Getpagesize())
	p.Owners, p.Places = r.tally.list(p.Faults, page), r.tally.places()
	p.Churn = judge(int64(p.Faults)*page, (r.last.resident-r.before.resident)*page, true, p.Samples)
	p.Warnings = p.warnings(r.decoder.bad, r.decoder.throttled)
}

func (r *Recorder) closeRings() {
	for _, t := range r.threads {
		r.closeRing(t)
	}
	clear(r.threads)
}
