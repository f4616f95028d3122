package cuda

import (
	"runtime"
	"sync"
	"time"
)

const (
	// spinFor is how long the thread asks for completions without a pause: short
	// kernels end within.
	spinFor = 50 * time.Microsecond
	// pauseFor is the pause between questions after that.
	pauseFor = 50 * time.Microsecond
)

// thread is the OS thread of a device, on which its context is current. It
// runs tasks in the order of their coming and asks for completions between
// them.
type thread struct {
	wake  chan struct{} // holds one: there are tasks
	ended chan struct{} // closed when no task will run any more

	mu     sync.Mutex
	tasks  []func()
	closed bool
}

func newThread() *thread {
	return &thread{wake: make(chan struct{}, 1), ended: make(chan struct{})}
}

// post adds a task and returns at once; false when the thread has been closed.
func (t *thread) post(task func()) bool {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return false
	}
	t.tasks = append(t.tasks, task)
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default:
	}
	return true
}

// do runs a task and returns when it has run; false when the thread has been
// closed. No lock that a task takes may be held, and no task may call it.
func (t *thread) do(task func()) bool {
	done := make(chan struct{})
	if !t.post(func() { task(); close(done) }) {
		return false
	}
	<-done
	return true
}

// close ends the thread after the tasks that are there; the last is the
// caller's.
func (t *thread) close(last func()) {
	t.mu.Lock()
	t.closed = true
	t.tasks = append(t.tasks, last)
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default:
	}
	<-t.ended
}

func (t *thread) take() (task func(), over bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.tasks) == 0 {
		return nil, t.closed
	}
	task = t.tasks[0]
	t.tasks[0] = nil // the array outlives it
	t.tasks = t.tasks[1:]
	return task, false
}

// quiet reports that no task waits.
func (t *thread) quiet() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.tasks) == 0
}

// poller is what the thread does beside its tasks.
type poller interface {
	// poll asks for completions; progress is that there were some, pending
	// that others are to come.
	poll() (progress, pending bool)
	// rest is called when there is nothing else to do.
	rest()
}

// run is the thread. The OS thread ends with it, so that the context stays
// current on no other goroutine's.
func (t *thread) run(p poller) {
	runtime.LockOSThread()
	defer close(t.ended)
	timer := time.NewTimer(time.Hour)
	last := time.Now()
	for {
		task, over := t.take()
		if over {
			return
		}
		if task != nil {
			task()
			last = time.Now()
		}
		progress, pending := p.poll()
		switch {
		case progress:
			last = time.Now()
			continue
		case task != nil:
			continue
		}
		p.rest()
		switch {
		case !pending:
			<-t.wake
			last = time.Now()
		case time.Since(last) > spinFor:
			timer.Reset(pauseFor)
			select {
			case <-t.wake:
			case <-timer.C:
			}
		}
	}
}
