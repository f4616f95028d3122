//go:build !unix

package agent

import (
	"net"
	"sync"
)

// sender writes to a socket without ever waiting for it: a goroutine does the
// waiting, one buffer at a time.
type sender struct {
	mu     sync.Mutex
	buf    []byte
	err    error
	closed bool
	wake   chan struct{}
}

func newSender(conn *net.UnixConn) (*sender, error) {
	s := &sender{wake: make(chan struct{}, 1)}
	go s.run(conn)
	return s, nil
}

func (s *sender) run(conn *net.UnixConn) {
	var out []byte
	for range s.wake {
		s.mu.Lock()
		out, s.buf = s.buf, out[:0]
		s.mu.Unlock()
		if _, err := conn.Write(out); err != nil {
			s.mu.Lock()
			s.err = err
			s.mu.Unlock()
			return
		}
	}
}

// send takes p when the goroutine has taken what came before.
func (s *sender) send(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil || len(s.buf) > 0 || s.closed {
		return 0, s.err
	}
	s.buf = append(s.buf, p...)
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (s *sender) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.wake)
	}
}
