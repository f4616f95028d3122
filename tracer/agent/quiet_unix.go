//go:build unix

package agent

import (
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// quietFD is a descriptor that is in no poller's set.
type quietFD struct {
	fd     int
	closed bool
}

// newQuietSocket duplicates the socket of a connection, which the caller then
// closes: that takes it out of the runtime's poller.
func newQuietSocket(conn *net.UnixConn) (quietSocket, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	q := &quietFD{}
	var dupErr error
	if err := raw.Control(func(fd uintptr) {
		q.fd, dupErr = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0)
	}); err != nil {
		return nil, err
	}
	if dupErr != nil {
		return nil, fmt.Errorf("duplicate a socket: %w", dupErr)
	}
	return q, nil // O_NONBLOCK is the socket's, so the duplicate has it too
}

func (q *quietFD) Read(p []byte) (int, error) {
	for {
		n, err := unix.Read(q.fd, p)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return 0, errNothing
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

func (q *quietFD) Write(p []byte, deadline time.Time) error {
	if q.closed {
		return net.ErrClosed
	}
	for len(p) > 0 {
		n, err := unix.Write(q.fd, p) // the runtime turns SIGPIPE into EPIPE
		if err == unix.EAGAIN || err == unix.EINTR {
			left := time.Until(deadline)
			if left <= 0 {
				return os.ErrDeadlineExceeded
			}
			ready := []unix.PollFd{{Fd: int32(q.fd), Events: unix.POLLOUT}}
			unix.Poll(ready, int(left.Milliseconds())+1)
			continue
		}
		if err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

func (q *quietFD) Close() error {
	q.closed = true
	return unix.Close(q.fd)
}
