package ttmetal

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of what waits to be printed. Beyond them lines are lost and counted:
// a stalled terminal never stalls a GPU program.
const (
	mostEvents = 1 << 16 // 6 MiB
	mostText   = 4 << 20 // bytes of dumps and statistics
)

// sink prints to one writer from a goroutine of its own.
type sink struct {
	w       io.Writer
	numbers numbers
	failed  func(error) // told of a write that failed, once until one succeeds

	mu     sync.Mutex
	wake   sync.Cond
	queue  []Event
	texts  int // bytes of text in queue
	lost   uint64
	closed bool

	dropped atomic.Uint64 // lines lost in all

	done   chan struct{}
	torn   bool // the last write ended within a line
	broken bool // the last write failed
	buf    []byte
}

func newSink(w io.Writer, n numbers, failed func(error)) *sink {
	s := &sink{w: w, numbers: n, failed: failed, done: make(chan struct{})}
	s.wake.L = &s.mu
	go s.run()
	return s
}

// push hands lines over in order, without waiting; what there is no room for
// is lost and counted. events stays the caller's.
func (s *sink) push(events []Event) {
	s.mu.Lock()
	for i := range events {
		text := len(events[i].Text)
		if text == 0 && len(s.queue) >= mostEvents || text > 0 && s.texts+text > mostText || s.closed {
			s.lost++
			s.dropped.Add(1)
			continue
		}
		s.texts += text
		s.queue = append(s.queue, events[i])
	}
	s.mu.Unlock()
	s.wake.Signal()
}

// run prints until close. What came meanwhile is printed together.
func (s *sink) run() {
	defer close(s.done)
	var batch []Event
	for {
		s.mu.Lock()
		for len(s.queue) == 0 && s.lost == 0 && !s.closed {
			s.wake.Wait()
		}
		if len(s.queue) == 0 && s.lost == 0 {
			s.mu.Unlock()
			return
		}
		batch, s.queue = s.queue, batch[:0]
		lost := s.lost
		s.lost, s.texts = 0, 0
		s.mu.Unlock()
		s.print(batch, lost)
		clear(batch) // texts are not kept
	}
}

// flushAt is the size of one write.
const flushAt = 32 << 10

func (s *sink) print(batch []Event, lost uint64) {
	from := 0
	for i := range batch {
		s.buf = appendEvent(s.buf, &batch[i], s.numbers)
		if len(s.buf) >= flushAt || i == len(batch)-1 {
			if !s.write() {
				lost += uint64(i + 1 - from)
				s.dropped.Add(uint64(i + 1 - from))
			}
			from = i + 1
		}
	}
	if lost == 0 {
		return
	}
	s.buf = fmt.Appendf(s.buf, "⚠ %d lines were not printed: the output was too slow or full\n", lost)
	if s.write() {
		return
	}
	time.Sleep(lostRetry) // a full disk is asked again, but not at once
	s.mu.Lock()
	if !s.closed {
		s.lost += lost
	}
	s.mu.Unlock()
}

// lostRetry is how long a sink that cannot write waits before it says again
// how much was lost.
const lostRetry = 200 * time.Millisecond

// write writes buf and empties it. A write that ended within a line is ended
// by the next one.
func (s *sink) write() bool {
	defer func() { s.buf = s.buf[:0] }()
	if s.torn {
		if _, err := s.w.Write([]byte("\n")); err != nil {
			return s.fail(err)
		}
		s.torn = false
	}
	n, err := s.w.Write(s.buf)
	if err != nil {
		s.torn = n > 0 && s.buf[n-1] != '\n'
		return s.fail(err)
	}
	s.broken = false
	return true
}

func (s *sink) fail(err error) bool {
	if !s.broken && s.failed != nil {
		s.failed(err)
	}
	s.broken = true
	return false
}

// close prints what is there and ends, at the latest after bound: a writer
// that never returns keeps its goroutine.
func (s *sink) close(bound time.Duration) {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.wake.Signal()
	select {
	case <-s.done:
	case <-time.After(bound):
	}
}
