package agent

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// quietAfter is after how many lags a program that knocks is read late: short
// programs are read at once as long as they live.
const quietAfter = 250

// errNothing says that a read would have to wait.
var errNothing = errors.New("the program sent nothing")

// quietSocket is a connected socket for which nobody waits in the kernel, so
// that what its program sends wakes nobody: the waking costs the program more
// than the sending, tens of microseconds on a virtual machine.
type quietSocket interface {
	io.Closer
	// Read returns errNothing instead of waiting, and io.EOF at the end.
	Read(p []byte) (int, error)
	// Write waits until the deadline for a program that does not read.
	Write(p []byte, deadline time.Time) error
}

// lateReader reads a connection as it comes and, once it is time, only when the
// lag has passed, the program knocks, or the server closes.
type lateReader struct {
	c     *Conn
	lag   *atomic.Int64 // of the server, ns; 0 never reads late
	never bool          // this system cannot
	since time.Time     // of the connection
	timer *time.Timer
}

func (r *lateReader) Read(p []byte) (int, error) {
	lag := time.Duration(r.lag.Load())
	if r.c.quiet == nil && lag > 0 && !r.never && r.c.knocks && time.Since(r.since) > quietAfter*lag {
		r.never = !r.c.quieten()
	}
	if r.c.quiet == nil {
		return r.c.conn.Read(p)
	}
	for {
		n, err := r.c.quiet.Read(p)
		if err != errNothing {
			return n, err
		}
		if !r.wait() {
			return 0, net.ErrClosed
		}
	}
}

// wait returns when it is time to look again; false means never.
func (r *lateReader) wait() bool {
	if r.timer == nil {
		r.timer = time.NewTimer(time.Duration(r.lag.Load()))
	} else {
		r.timer.Reset(time.Duration(r.lag.Load()))
	}
	defer r.timer.Stop()
	select {
	case <-r.timer.C:
	case <-r.c.knocked:
	case <-r.c.closed:
		return false
	}
	return true
}

// quieten takes the connection's socket away from those who are woken by it. It
// reports whether this system can.
func (c *Conn) quieten() bool {
	c.write.Lock()
	defer c.write.Unlock()
	quiet, err := newQuietSocket(c.conn)
	if err != nil {
		return false
	}
	c.conn.Close()
	c.quiet = quiet
	return true
}

// send writes a line within a bound.
func (c *Conn) send(line []byte) error {
	c.write.Lock()
	defer c.write.Unlock()
	deadline := time.Now().Add(doBound)
	if c.quiet != nil {
		return c.quiet.Write(line, deadline)
	}
	c.conn.SetWriteDeadline(deadline)
	_, err := c.conn.Write(line)
	return err
}

// close ends the connection. Only its reading goroutine calls it.
func (c *Conn) close() {
	c.write.Lock()
	defer c.write.Unlock()
	c.conn.Close()
	if c.quiet != nil {
		c.quiet.Close()
	}
}
