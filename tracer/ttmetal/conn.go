package ttmetal

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

const (
	// idleGap is how long nothing must follow the first bytes before their
	// length is taken for the size of a message.
	idleGap = 10 * time.Millisecond
	// replyBound is how long a client may leave a reply unread.
	replyBound = 5 * time.Second
	// mostBad is how many bad messages in a row close their connection.
	mostBad = 10
	// mostBatch bounds the events that are handed to the printers together.
	mostBatch = 512
)

// conn is one connected program. Its fields are for its own goroutine, but for
// c.
type conn struct {
	s *Server
	c *net.UnixConn
	f framer

	peer    int32 // 0 is not known
	last    int32 // the claim that charged answers for
	known   bool  // charged is set
	charged process
	lied    bool

	bad      int // in a row
	badLines int // printed of this connection
	out      []byte
	replied  int // size of the last reply
	events   []Event
	counted  uint64 // messages not yet in the server's total
	spoke    bool   // has sent a whole message
}

// When the server stops, a connection is read on until it is silent for
// lastRead, for what the program had sent before; no longer than lastReads.
const (
	lastRead  = 100 * time.Millisecond
	lastReads = 2 * time.Second
)

// hangUp ends the present read, so that the stop is seen. It may be called from
// any goroutine.
func (c *conn) hangUp() {
	c.c.SetReadDeadline(time.Now()) //nolint:errcheck // a closed one has hung up already
}

// errDone ends a connection that has got its answer.
var errDone = errors.New("answered")

// serve reads until the program hangs up, the server closes, or the bytes make
// no sense.
func (c *conn) serve() {
	c.peer = peerPID(c.c)
	err := c.read()
	switch {
	case errors.Is(err, ErrProtocol):
		c.s.counts.broken.Add(1)
		c.say(fmt.Sprintf("⚠ [PID %d] connection closed: %v", c.peer, err))
	case c.f.pending() > 0 && !errors.Is(err, errDone):
		c.s.counts.cut.Add(1)
	}
	c.pass()
}

func (c *conn) read() error {
	waiting := false // a deadline is set to learn the size from silence
	last := false    // the server stops
	for {
		if undecided := c.f.undecided(); undecided != waiting && !last {
			waiting = undecided
			c.deadline(undecided)
		}
		if last {
			c.lastDeadline()
		}
		n, err := c.c.Read(c.f.space())
		c.f.wrote(n)
		if n > 0 && waiting && !last {
			c.deadline(true) // silence starts again
		}
		idle := err != nil
		if err := c.take(idle); err != nil {
			return err
		}
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded) && !c.s.stopping():
			waiting = false
			c.deadline(false)
		case errors.Is(err, os.ErrDeadlineExceeded) && !last:
			last = true
		case errors.Is(err, io.EOF):
			return nil
		default:
			return err
		}
	}
}

func (c *conn) deadline(set bool) {
	var t time.Time
	if set {
		t = time.Now().Add(idleGap)
	}
	c.c.SetReadDeadline(t) //nolint:errcheck // fails only when closed, and then the read says so
	if c.s.stopping() {
		c.hangUp()
	}
}

// lastDeadline bounds a read of the last ones. Each has its own time: a machine
// under load must not lose what lies there.
func (c *conn) lastDeadline() {
	t := time.Now().Add(lastRead)
	if t.After(c.s.lastRead) {
		t = c.s.lastRead
	}
	c.c.SetReadDeadline(t) //nolint:errcheck // fails only when closed, and then the read says so
}

func (s *Server) stopping() bool {
	select {
	case <-s.stop:
		return true
	default:
		return false
	}
}

// take handles the messages that are there.
func (c *conn) take(idle bool) error {
	for {
		q, ok, err := c.f.next(idle)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if c.f.sure && c.replied != 0 && c.replied != c.f.size {
			return fmt.Errorf("messages of %d bytes after one of %d: %w", c.f.size, c.replied, ErrProtocol)
		}
		c.counted++
		c.speaks()
		if err := c.handle(&q); err != nil {
			return err
		}
		if len(c.events) >= mostBatch {
			c.pass()
		}
	}
	if c.f.legacy == stats24 {
		c.out = appendStats(c.out, c.s.books.used)
		if err := c.answer(); err != nil {
			return err
		}
		return errDone
	}
	c.pass()
	return c.answer()
}

// speaks gives the connection its place for good at its first message.
func (c *conn) speaks() {
	if c.spoke {
		return
	}
	c.spoke = true
	c.s.mu.Lock()
	c.s.conns.keep(c)
	c.s.mu.Unlock()
}

// handle does what one message asks. An error closes the connection.
func (c *conn) handle(q *Request) error {
	if err := check(q); err != nil {
		return c.refuse(err)
	}
	c.bad = 0
	switch q.Kind {
	case Query:
		c.reply(Reply{Kind: Response, Device: q.Device, Used: c.s.books.used(q.Device)})
	case DeviceInfoQuery:
		c.reply(c.s.deviceInfo(q.Device))
	case DumpRemaining, DumpKernels:
		return c.dump(q)
	default:
		e := c.s.books.apply(q, c.charge(q))
		if e.Unknown {
			c.s.counts.unknown.Add(1)
		}
		if !c.s.o.Quiet && len(c.s.sinks) > 0 {
			e.Decimal = c.f.size == V1
			c.events = append(c.events, e)
		}
	}
	return nil
}

// mostBadLines bounds the lines one connection gets for its bad messages.
const mostBadLines = 20

// refuse counts a message that is not applied; too many in a row end the
// connection.
func (c *conn) refuse(err error) error {
	c.s.counts.refused.Add(1)
	if c.badLines++; c.badLines <= mostBadLines {
		c.say(fmt.Sprintf("⚠ [PID %d] %v - ignoring message", c.peer, err))
	}
	if c.bad++; c.bad >= mostBad {
		return fmt.Errorf("%d bad messages in a row, the last: %w: %w", c.bad, err, ErrProtocol)
	}
	return nil
}

// say prints a line of this connection, in its order.
func (c *conn) say(text string) {
	c.events = append(c.events, Event{Text: text})
}

// charge is the process a message is charged to.
func (c *conn) charge(q *Request) process {
	if c.known && q.PID == c.last {
		return c.charged
	}
	c.last, c.known = q.PID, true
	c.charged = c.who(q)
	return c.charged
}

// who finds the process a message is charged to. A free may leave it out, as
// the demo client does.
func (c *conn) who(q *Request) process {
	sys := c.s.o.Processes
	switch {
	case c.s.o.TrustPIDs || c.peer == 0:
		return process{pid: q.PID, owner: q.PID, start: sys.Start(q.PID)}
	case q.PID == c.peer || calls(c.peer, q.PID):
		return process{pid: q.PID, owner: c.peer, start: sys.Start(c.peer)}
	case q.PID == 0:
	default:
		c.s.counts.lies.Add(1)
		if !c.lied {
			c.lied = true
			c.say(fmt.Sprintf("⚠ [PID %d] claims to be PID %d; it is charged itself", c.peer, q.PID))
		}
	}
	return process{pid: c.peer, owner: c.peer, start: sys.Start(c.peer)}
}

// reply adds an answer to those that go out when the messages at hand are
// done.
func (c *conn) reply(r Reply) {
	c.replied = c.f.size
	c.out = r.Append(c.out, c.f.size)
}

// answer sends what was replied. A client that does not read loses its
// connection.
func (c *conn) answer() error {
	if len(c.out) == 0 {
		return nil
	}
	c.c.SetWriteDeadline(time.Now().Add(replyBound)) //nolint:errcheck // the write says it
	_, err := c.c.Write(c.out)
	c.out = c.out[:0]
	if err != nil {
		return fmt.Errorf("reply: %w", err)
	}
	return nil
}

// pass hands the events over to the printers and enters the messages into the
// server's total.
func (c *conn) pass() {
	if len(c.events) > 0 {
		c.s.push(c.events)
		clear(c.events)
		c.events = c.events[:0]
	}
	if c.counted > 0 {
		c.s.counts.messages.Add(c.counted)
		c.counted = 0
	}
}

// deviceInfo answers what is known of a device, or of how many there are.
func (s *Server) deviceInfo(device int32) Reply {
	r := Reply{Kind: DeviceInfoResponse, Device: device}
	if device == -1 {
		r.Devices = s.books.seen()
		for d := range s.o.Devices {
			r.Devices = max(r.Devices, uint32(d)+1)
		}
		r.Info.Available = r.Devices > 0
		return r
	}
	r.Info = s.o.Devices[device]
	return r
}

// dump prints a dump and, when asked, sends it. Only the connection that asked
// waits for it to be made.
func (c *conn) dump(q *Request) error {
	c.pass()
	if q.Kind == DumpRemaining && q.Time == DumpSums {
		if err := c.s.writeSums(deadlineWriter{c.c}); err != nil {
			return fmt.Errorf("send counters: %w", err)
		}
		return errDone
	}
	text := c.s.dumpText(q.Kind)
	c.say(text)
	c.pass()
	switch {
	case q.Kind == DumpRemaining && q.Time == DumpText:
		c.out = append(append(c.out, text...), '\n')
		c.out = appendLeft(c.out, c.s.leftByDead(), numbers{c.s.o.SixDigits})
	case q.Kind == DumpRemaining && q.Time == DumpJSON:
		if err := c.s.writeJSON(deadlineWriter{c.c}); err != nil {
			return fmt.Errorf("send dump: %w", err)
		}
	default:
		return nil
	}
	if err := c.answer(); err != nil {
		return err
	}
	return errDone
}

// dumpText makes a dump, of buffers after a sweep; two at a time, because each
// looks at all the books.
func (s *Server) dumpText(kind Kind) string {
	s.dumping <- struct{}{}
	defer func() { <-s.dumping }()
	if kind == DumpKernels {
		return string(append(s.books.AppendKernels(nil, s.o.SixDigits), "\n📋 DUMP_KERNELS complete."...))
	}
	s.Sweep() // its lines come before the dump
	b := s.books.AppendDump([]byte("📋 Received DUMP_REMAINING request...\n"), s.o.SixDigits)
	return string(append(b, "📋 DUMP_REMAINING complete."...))
}

// deadlineWriter bounds each write by replyBound.
type deadlineWriter struct{ c *net.UnixConn }

func (w deadlineWriter) Write(b []byte) (int, error) {
	w.c.SetWriteDeadline(time.Now().Add(replyBound)) //nolint:errcheck // the write says it
	return w.c.Write(b)
}
