//go:build unix

package agent

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// sender writes to a socket without ever waiting for it.
type sender struct {
	raw syscall.RawConn
	p   []byte
	n   int
	err error
	try func(fd uintptr) bool // made once: a closure a call would allocate
}

func newSender(conn *net.UnixConn) (*sender, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	s := &sender{raw: raw}
	s.try = func(fd uintptr) bool {
		s.n, s.err = unix.Write(int(fd), s.p)
		return true
	}
	return s, nil
}

// send writes what the socket takes of p at once and returns how much that
// was. Nothing taken is no error.
func (s *sender) send(p []byte) (int, error) {
	s.p, s.n, s.err = p, 0, nil
	if err := s.raw.Write(s.try); err != nil {
		return 0, err
	}
	s.p = nil
	if s.err == unix.EAGAIN || s.err == unix.EINTR || s.err == unix.ENOBUFS {
		return 0, nil
	}
	return max(s.n, 0), s.err
}

func (s *sender) close() {}
