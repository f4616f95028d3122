package agent

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gpumem/gpumem/internal/leftover"
)

const (
	// maxConns bounds the programs connected at once, and maxConnsOfPID those of
	// one process: an agent needs one, and a second for the moment of a knock.
	maxConns      = 256
	maxConnsOfPID = 16
	// helloBound is how long a connection may stay silent before its hello while
	// there is room for others.
	helloBound = 10 * time.Second
	// doBound is how long a request may wait for a program that does not read.
	doBound = 2 * time.Second
	// maxSocketPath is the room for a path in a socket address: 104 bytes on
	// macOS and the BSDs, 108 on Linux, with the end mark.
	maxSocketPath = 103
)

// Handler hears what connected programs say. Its methods are called from one
// goroutine a connection, so several at once, but in order for each one.
type Handler interface {
	// Message is called for each line after a valid hello, and for the hellos
	// themselves. m and what it points to are valid until it returns.
	Message(c *Conn, m *Message)
	// Gone is called when a connection that said hello has ended, after all of
	// its messages. err is nil when the program closed it, else what was wrong.
	Gone(c *Conn, err error)
	// Refused is called when a connection ended without a valid hello.
	Refused(err error)
}

// Server is the tracer's end of the protocol.
type Server struct {
	dir     string
	home    *os.File       // see place
	lock    *leftover.Lock // of the folder
	path    string         // of the socket, for us
	seen    string         // the same, for the programs
	owner   int            // who may enter the folder
	lis     *net.UnixListener
	handler Handler
	lag     atomic.Int64 // ns

	mu       sync.Mutex
	conns    map[*Conn]struct{}
	ofPID    int   // how many of them one process may have
	accepted int64 // how many there were
	closed   bool
	wg       sync.WaitGroup
}

// Listen makes a folder of mode 0700 with a socket in it and serves agents
// until Close, which removes both. A program that knocks (Hello.Knocks) is, once
// it has lived for 250 times the lag, read up to lag late where nothing hurries;
// 0 reads all programs at once.
func Listen(h Handler, lag time.Duration) (*Server, error) {
	dir, err := socketDir()
	if err != nil {
		return nil, fmt.Errorf("listen for agents: %w", err)
	}
	return listenAt(h, lag, place{dir: dir, seen: dir, owner: os.Geteuid()})
}

// place is the folder of a socket.
type place struct {
	dir   string // for us
	seen  string // for the programs
	owner int    // who may enter it
	// home is the folder that dir is in, where dir is a path by its descriptor.
	home *os.File
}

func listenAt(h Handler, lag time.Duration, at place) (*Server, error) {
	dir := at.dir
	// Where there are no locks the folder serves as well, and is never swept.
	lock, _ := leftover.Claim(dir)
	path := filepath.Join(dir, "agent.sock")
	lis, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err == nil && at.owner != os.Geteuid() {
		err = errors.Join(os.Lchown(path, at.owner, -1), os.Lchown(dir, at.owner, -1))
	}
	if err != nil {
		if lis != nil {
			lis.Close()
		}
		os.RemoveAll(dir)
		lock.Release()
		at.home.Close() // nil is allowed
		return nil, fmt.Errorf("listen for agents: %w", err)
	}
	seen := filepath.Join(at.seen, filepath.Base(path))
	s := &Server{dir: dir, home: at.home, lock: lock, path: path, seen: seen, owner: at.owner, lis: lis,
		handler: h, conns: map[*Conn]struct{}{}, ofPID: maxConnsOfPID}
	s.SetLag(lag)
	s.wg.Add(1)
	go s.accept()
	s.wg.Go(sweep)
	return s, nil
}

// SetLag changes how late programs that knock may be read. A shorter lag than before
// has what they sent read at once. 0 is for Listen alone.
func (s *Server) SetLag(lag time.Duration) {
	if before := s.lag.Swap(int64(lag)); int64(lag) < before {
		s.knock()
	}
}

// folderPrefix is how the folder of a socket is called.
const folderPrefix = "gpumem-socket-"

// sweep removes the folders of servers that were killed. What cannot be swept now
// may be later; it is in nobody's way.
func sweep() {
	_, _ = leftover.Sweep(filepath.Join(os.TempDir(), folderPrefix+"*"))
	if os.TempDir() != "/tmp" {
		_, _ = leftover.Sweep("/tmp/" + folderPrefix + "*")
	}
}

// socketDir makes the folder, in /tmp when the folder for temporary files is
// too deep for a socket's address.
func socketDir() (string, error) {
	dir, err := os.MkdirTemp("", folderPrefix) // mode 0700
	if err == nil && len(dir)+len("/agent.sock") <= maxSocketPath {
		return dir, nil
	}
	if err == nil {
		os.Remove(dir)
	}
	return os.MkdirTemp("/tmp", folderPrefix)
}

// Path is the path of the socket as the programs see it, the value of GPUMEM_AGENT.
func (s *Server) Path() string { return s.seen }

// Close closes all connections, waits for their handlers and removes the
// socket. A handler must not call it.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	for c := range s.conns {
		close(c.closed)
		c.conn.Close()
	}
	s.mu.Unlock()
	err := s.lis.Close()
	s.wg.Wait()
	err = errors.Join(err, os.RemoveAll(s.dir), s.lock.Release())
	s.home.Close() // nil is allowed
	if err != nil &&
		!errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("close agent socket: %w", err)
	}
	return nil
}

// Drain waits until the connections of programs that have ended are read to
// their end, at most for bound: other programs may stay connected.
func (s *Server) Drain(bound time.Duration) {
	deadline := time.Now().Add(bound)
	// Connections are accepted in order: when the server has seen ours end, it
	// has accepted all that came before.
	if own, err := net.DialTimeout("unix", s.path, bound); err == nil {
		own.SetDeadline(deadline)
		if u, ok := own.(*net.UnixConn); ok {
			u.CloseWrite()
		}
		own.Read(make([]byte, 1)) // nothing but the end can come
		own.Close()
	}
	for time.Now().Before(deadline) {
		s.mu.Lock()
		left := len(s.conns)
		s.mu.Unlock()
		if left == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// accept takes connections until the listener is closed.
func (s *Server) accept() {
	defer s.wg.Done()
	for {
		conn, err := s.lis.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			// Out of descriptors, most likely: the program must not notice.
			time.Sleep(10 * time.Millisecond)
			if s.isClosed() {
				return
			}
			continue
		}
		s.knock()
		peer, err := peerOf(conn)
		if err != nil {
			s.handler.Refused(fmt.Errorf("agent refused: %w", err))
			conn.Close()
			continue
		}
		c := &Conn{conn: conn, peer: peer, knocked: make(chan struct{}, 1), closed: make(chan struct{})}
		c.pid.Store(int64(peer.pid))
		if !s.admit(c) {
			conn.Close()
			continue
		}
		go s.serve(c)
	}
}

// knock has all programs read that are read late: one of them connected to say
// that there is something that cannot wait.
func (s *Server) knock() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		select {
		case c.knocked <- struct{}{}:
		default:
		}
	}
}

func (s *Server) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// admit counts a connection in. Where the table is full, the connection that has
// been silent longest gives its place; one that said hello never does.
func (s *Server) admit(c *Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	if c.peer.pid != 0 && s.countOf(c.peer.pid) >= s.ofPID {
		s.handler.Refused(fmt.Errorf("process %d has more than %d connections at once", c.peer.pid, s.ofPID))
		return false
	}
	if len(s.conns) >= maxConns && !s.dropSilent() {
		s.handler.Refused(fmt.Errorf("more than %d agents at once", maxConns))
		return false
	}
	s.accepted++
	c.number = s.accepted
	s.conns[c] = struct{}{}
	s.wg.Add(1)
	return true
}

// countOf is how many connections a process has. The lock is held.
func (s *Server) countOf(pid int) int {
	n := 0
	for c := range s.conns {
		if c.peer.pid == pid {
			n++
		}
	}
	return n
}

// dropSilent ends the oldest connection without a hello and takes it off the
// table. It reports false when there is none. The lock is held.
func (s *Server) dropSilent() bool {
	var oldest *Conn
	for c := range s.conns {
		if !c.greeted && (oldest == nil || c.number < oldest.number) {
			oldest = c
		}
	}
	if oldest == nil {
		return false
	}
	oldest.crowded = true
	oldest.conn.Close()
	delete(s.conns, oldest)
	return true
}

// serve reads one connection to its end.
func (s *Server) serve(c *Conn) {
	defer s.wg.Done()
	err := s.read(c)
	c.close()
	s.mu.Lock()
	delete(s.conns, c)
	if s.closed {
		err = nil // we closed it
	}
	s.mu.Unlock()
	if c.greeted {
		s.handler.Gone(c, err)
	} else if err != nil {
		s.handler.Refused(err)
	}
}

// read hands the lines of a connection to the handler. A nil error means that
// the program closed it. A panic on the way costs this connection alone.
func (s *Server) read(c *Conn) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = c.fault(fmt.Errorf("internal error of gpumem: %v; please report it", p))
		}
	}()
	c.conn.SetReadDeadline(time.Now().Add(helloBound))
	lines := bufio.NewScanner(&lateReader{c: c, lag: &s.lag, since: time.Now()})
	lines.Buffer(make([]byte, 16<<10), maxLine)
	lines.Split(wholeLines)
	decode := newDecoder()
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		m, err := decode.decode(lines.Bytes())
		if err != nil {
			return c.fault(err)
		}
		if err := c.greet(m.Hello); err != nil {
			return c.fault(err)
		}
		if !c.greeted && !s.welcome(c) {
			break
		}
		s.handler.Message(c, m)
	}
	switch err := lines.Err(); {
	case s.isCrowded(c):
		return c.fault(errors.New("no hello, and other programs were waiting"))
	case errors.Is(err, bufio.ErrTooLong):
		return c.fault(fmt.Errorf("a line is over %d bytes", maxLine))
	case errors.Is(err, os.ErrDeadlineExceeded):
		return c.fault(errors.New("no hello"))
	}
	// A reset is how a killed program closes.
	return nil
}

// welcome keeps a connection that said hello for good. It reports false when the
// connection has given its place to another.
func (s *Server) welcome(c *Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.crowded {
		return false
	}
	c.greeted = true
	c.conn.SetReadDeadline(time.Time{})
	return true
}

func (s *Server) isCrowded(c *Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.crowded
}

// wholeLines is a bufio.SplitFunc for lines with their end: what a killed
// program left half written is no line.
func wholeLines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, bytes.TrimSuffix(data[:i], []byte("\r")), nil
	}
	if atEOF {
		return len(data), nil, nil
	}
	return 0, nil, nil
}

// Conn is one connected program.
type Conn struct {
	conn    *net.UnixConn
	peer    peer
	number  int64 // in the order of arrival
	greeted bool  // said hello; the reading goroutine changes it, with the server's lock
	crowded bool  // gave its place to another; under the server's lock
	knocks  bool  // used by the reading goroutine alone
	pid     atomic.Int64
	knocked chan struct{} // something cannot wait
	closed  chan struct{} // by the server

	write  sync.Mutex
	quiet  quietSocket // takes the place of conn; changed by the reading goroutine
	lastID atomic.Int64
}

// PID is the program's process, as the tracer sees it.
func (c *Conn) PID() int { return int(c.pid.Load()) }

// fault says whose connection is closed and why.
func (c *Conn) fault(err error) error {
	return fmt.Errorf("connection of agent with pid %d closed: %w", c.PID(), err)
}

// greet checks that a program has introduced itself, truly.
func (c *Conn) greet(h *Hello) error {
	peer := c.peer
	if h == nil {
		if !c.greeted {
			return errors.New("a line comes before hello")
		}
		return nil
	}
	if h.V < 1 {
		return fmt.Errorf("hello of version %d", h.V)
	}
	if !peer.is(h.PID) || (c.greeted && peer.pid == 0 && h.PID != c.PID()) {
		return fmt.Errorf("hello says pid %d, the socket is of pid %d", h.PID, c.PID())
	}
	if peer.pid == 0 { // the system does not say whose socket it is
		c.pid.Store(int64(h.PID))
	}
	c.knocks = c.knocks || h.Knocks
	return nil
}

// Do asks the program for an action and returns the id that its Done will
// carry. It does not wait for the answer.
func (c *Conn) Do(action string) (id int64, err error) {
	id = c.lastID.Add(1)
	line, err := json.Marshal(envelope{Do: &Do{ID: id, Action: action}})
	if err == nil {
		err = c.send(append(line, '\n'))
	}
	if err != nil {
		return 0, fmt.Errorf("ask agent to %s: %w", action, err)
	}
	return id, nil
}

// Kept tells a program that the mark of a time, one that is waited for, is written.
func (c *Conn) Kept(tNs int64) error {
	if err := c.send(encode(envelope{Kept: &kept{TNs: tNs}})); err != nil {
		return fmt.Errorf("tell agent that its mark is kept: %w", err)
	}
	return nil
}

// Heard tells a program that marked the phase exiting that the mark was read and
// that it should stay. A tracer says it at once or with its first request, and
// again every second or more often until ActionContinue: a program that hears
// nothing takes its tracer for stopped, and ends.
func (c *Conn) Heard() error {
	if err := c.send(encode(envelope{Heard: &struct{}{}})); err != nil {
		return fmt.Errorf("tell agent that it was heard: %w", err)
	}
	return nil
}
