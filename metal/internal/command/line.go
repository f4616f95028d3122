package command

import "sync"

// Line works through the command buffers of a queue on a goroutine of its own,
// in the order of their coming. Its owner calls End.
type Line struct {
	mu      sync.Mutex
	changed sync.Cond // any field below
	waiting []*CommandBuffer
	ended   bool

	done chan struct{} // closed when the goroutine has ended
}

// NewLine starts the goroutine; run is called there for each command buffer.
func NewLine(run func(*CommandBuffer)) *Line {
	l := &Line{done: make(chan struct{})}
	l.changed.L = &l.mu
	go func() {
		defer close(l.done)
		for c := l.next(); c != nil; c = l.next() {
			run(c)
		}
	}()
	return l
}

// Add appends a command buffer and returns at once.
func (l *Line) Add(c *CommandBuffer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, c)
	l.changed.Signal()
}

// End returns when all have been run and the goroutine has ended.
func (l *Line) End() {
	l.mu.Lock()
	l.ended = true
	l.changed.Signal()
	l.mu.Unlock()
	<-l.done
}

// next waits for the command buffer to run; nil ends the goroutine.
func (l *Line) next() *CommandBuffer {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.waiting) == 0 && !l.ended {
		l.changed.Wait()
	}
	if len(l.waiting) == 0 {
		return nil
	}
	c := l.waiting[0]
	l.waiting[0] = nil // the array outlives it
	l.waiting = l.waiting[1:]
	return c
}
