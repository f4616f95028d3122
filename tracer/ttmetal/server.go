package ttmetal

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultSocket is where the tt-metal clients look for their server.
const DefaultSocket = "/tmp/tt_allocation_server.sock"

// Options are what a Server can be told. The zero value serves
// DefaultSocket, believes nobody and prints nowhere.
type Options struct {
	Socket string // path, default DefaultSocket
	// Shared lets other users connect: the socket's mode is 0666, not 0600.
	Shared bool
	// TrustPIDs charges allocations to the process a message names. Else they
	// are charged to the process at the other end of the socket, and one that
	// names another is warned about.
	TrustPIDs bool
	// Quiet prints no event lines and no statistics by itself.
	Quiet     bool
	SixDigits bool // sizes as C++ streams print them
	// History keeps the last HistoryEvents events of a buffer.
	History bool
	// StatePath is a file that holds the books, so that they outlive the
	// process; empty is none. On systems without mapped files it is an error.
	StatePath string

	// Out gets event lines, dumps and statistics; Log the same, when set. Both
	// are written by one goroutine each, and may block or fail.
	Out, Log io.Writer
	// Warn is told what a person should know, one sentence a call, from any
	// goroutine; nil tells nobody.
	Warn func(text string)

	// SweepEvery and StatisticsEvery default to 5 s and 10 s; negative is never.
	SweepEvery, StatisticsEvery time.Duration
	// MostConnections bounds the connections at once, default 16,384. Where there are as
	// many, the oldest that has not sent a whole message is closed for a new one; where
	// all have, the new one is closed.
	MostConnections int
	// Processes defaults to System.
	Processes Processes
	// Devices is what is known of devices, by number.
	Devices map[int32]DeviceInfo
}

// Server keeps the books for the programs that connect to its socket.
type Server struct {
	o       Options
	started time.Time
	books   *Registry
	state   *state
	lis     *net.UnixListener
	bound   boundSocket
	sinks   []*sink

	counts  counts
	dumping chan struct{} // bounds the dumps made at once
	sending chan struct{} // and those sent as JSON

	leftMu sync.Mutex
	left   []Swept // of dead processes, newest last
	lefts  uint64  // how many there were

	mu     sync.Mutex
	conns  crowd
	closed bool
	wg     sync.WaitGroup
	stop   chan struct{}
	// lastRead is when reading ends, set before stop is closed.
	lastRead time.Time
}

// counts are running totals since the server started.
type counts struct {
	messages, refused, unknown, lies, broken, cut, accepted, swept atomic.Uint64
}

// Counts are running totals since the server started.
type Counts struct {
	// Messages are whole messages read; of these, Refused were not applied:
	// out of bounds or of no known kind.
	Messages uint64 `json:"messages"`
	Refused  uint64 `json:"refused"`
	Unknown  uint64 `json:"unknown"` // frees of what was not on the books
	Lies     uint64 `json:"lies"`    // times a program named another process than itself
	// Broken are connections closed for bytes that are not the protocol, Cut
	// those that ended within a message.
	Broken      uint64 `json:"broken"`
	Cut         uint64 `json:"cut"`
	Accepted    uint64 `json:"accepted"`    // connections
	Connections uint64 `json:"connections"` // open now
	Swept       uint64 `json:"swept"`       // allocations of dead processes taken off the books
	Lost        uint64 `json:"lost_lines"`  // lines not printed
}

// Listen makes the socket and serves it until Close. A socket file that
// nobody serves is replaced; one that is served, or is no socket, is an error.
func Listen(o Options) (*Server, error) {
	o = o.withDefaults()
	s := &Server{
		o: o, started: time.Now(), conns: newCrowd(o.MostConnections), stop: make(chan struct{}),
		dumping: make(chan struct{}, 2), sending: make(chan struct{}, 2),
	}
	var st store = heap{}
	remembered := 0
	if o.History {
		remembered = HistoryEvents
	}
	if o.StatePath != "" {
		var err error
		if s.state, err = openState(o.StatePath, s.warn); err != nil {
			return nil, fmt.Errorf("open state: %w", err)
		}
		st = s.state
	}
	s.books = newRegistry(st, remembered)
	if s.state != nil {
		if err := s.state.restore(s.books); err != nil {
			s.state.close()
			return nil, err
		}
		if err := s.state.replace(); err != nil {
			s.state.close()
			return nil, fmt.Errorf("open state: %w", err)
		}
	}
	var err error
	if s.lis, s.bound, err = listen(o.Socket, o.Shared); err != nil {
		if s.state != nil {
			s.state.close()
		}
		return nil, err
	}
	for _, w := range [...]io.Writer{o.Out, o.Log} {
		if w != nil {
			s.sinks = append(s.sinks, newSink(w, numbers{o.SixDigits}, func(err error) {
				s.warn(fmt.Sprintf("lines are lost: %v", err))
			}))
		}
	}
	s.wg.Add(3)
	go s.accept()
	go s.every(o.SweepEvery, s.Sweep)
	go s.every(o.StatisticsEvery, s.statistics)
	return s, nil
}

func (o Options) withDefaults() Options {
	if o.Socket == "" {
		o.Socket = DefaultSocket
	}
	if o.SweepEvery == 0 {
		o.SweepEvery = 5 * time.Second
	}
	if o.StatisticsEvery == 0 {
		o.StatisticsEvery = 10 * time.Second
	}
	if o.MostConnections <= 0 {
		o.MostConnections = mostConnections
	}
	if o.Processes == nil {
		o.Processes = System{}
	}
	return o
}

func (s *Server) warn(text string) {
	if s.o.Warn != nil {
		s.o.Warn(text)
	}
}

// Books are the server's books.
func (s *Server) Books() *Registry { return s.books }

// Counts are the running totals.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	open := uint64(len(s.conns.all))
	s.mu.Unlock()
	var lost uint64
	for _, k := range s.sinks {
		lost += k.dropped.Load()
	}
	c := &s.counts
	return Counts{
		Messages: c.messages.Load(), Refused: c.refused.Load(), Unknown: c.unknown.Load(),
		Lies:   c.lies.Load(),
		Broken: c.broken.Load(), Cut: c.cut.Load(), Accepted: c.accepted.Load(), Connections: open,
		Swept: c.swept.Load(), Lost: lost,
	}
}

// acceptPause is how long accepting waits when there are no descriptors left.
const acceptPause = 20 * time.Millisecond

func (s *Server) accept() {
	defer s.wg.Done()
	warned := false
	for {
		c, err := s.lis.AcceptUnix()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if !warned {
				s.warn(fmt.Sprintf("accept a connection: %v", err))
				warned = true
			}
			s.mu.Lock()
			s.conns.drop() // there may be no descriptor for a new one
			s.mu.Unlock()
			select {
			case <-s.stop:
				return
			case <-time.After(acceptPause):
				continue
			}
		}
		s.start(c)
	}
}

func (s *Server) start(c *net.UnixConn) {
	k := &conn{s: s, c: c}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		c.Close()
		return
	}
	room, first := s.conns.add(k)
	if room {
		s.wg.Add(1)
	}
	s.mu.Unlock()
	if first {
		s.warn(fmt.Sprintf("%d programs are connected, the most that are served at once: more are turned "+
			"away", s.o.MostConnections))
	}
	if !room {
		c.Close()
		return
	}
	s.counts.accepted.Add(1)
	go func() {
		defer s.wg.Done()
		k.serve()
		c.Close()
		s.mu.Lock()
		s.conns.remove(k)
		s.mu.Unlock()
	}()
}

// every calls f until the server stops; never when d is negative.
func (s *Server) every(d time.Duration, f func()) {
	defer s.wg.Done()
	if d < 0 {
		return
	}
	tick := time.NewTicker(d)
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-tick.C:
			f()
		}
	}
}

// mostLeft bounds how many dead processes are remembered for dumps.
const mostLeft = 10_000

// Sweep takes the allocations of dead processes off the books, prints which, and
// gives back the memory that is not needed any more.
func (s *Server) Sweep() {
	swept := s.books.Sweep(s.o.Processes)
	s.books.Shrink()
	if len(swept) == 0 {
		return
	}
	for _, w := range swept {
		for _, n := range w.Count {
			s.counts.swept.Add(uint64(n))
		}
	}
	s.leftMu.Lock()
	for i := range swept {
		s.lefts++
		swept[i].Number = s.lefts
	}
	s.left = append(s.left, swept...)
	s.left = s.left[max(0, len(s.left)-mostLeft):]
	s.leftMu.Unlock()
	s.print(string(appendSwept(nil, swept, numbers{s.o.SixDigits})))
}

// leftByDead is what the last dead processes left.
func (s *Server) leftByDead() []Swept {
	s.leftMu.Lock()
	defer s.leftMu.Unlock()
	return slices.Clone(s.left)
}

func (s *Server) statistics() {
	if !s.o.Quiet {
		s.print(string(s.books.AppendStatistics(nil, s.o.SixDigits)))
	}
}

// print hands text to all sinks; empty text is nothing.
func (s *Server) print(text string) {
	if text == "" {
		return
	}
	if text[len(text)-1] == '\n' {
		text = text[:len(text)-1]
	}
	s.push([]Event{{Text: text}})
}

func (s *Server) push(events []Event) {
	for _, k := range s.sinks {
		k.push(events)
	}
}

// drainBound is how long Close waits for a writer that does not take its
// lines.
const drainBound = 2 * time.Second

// Close stops serving, prints the last statistics, and the history's report,
// writes the state back and removes the socket. Programs that are connected
// are disconnected; what they sent before is on the books.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.lastRead = time.Now().Add(lastReads)
	close(s.stop)
	err := s.lis.Close()
	for c := range s.conns.all {
		c.hangUp()
	}
	s.mu.Unlock()
	s.wg.Wait()
	s.print(string(s.books.AppendUneven(s.books.AppendStatistics(nil, s.o.SixDigits))))
	for _, k := range s.sinks {
		k.close(drainBound)
	}
	err = errors.Join(err, s.bound.remove())
	if s.state != nil {
		err = errors.Join(err, s.state.close())
	}
	if err != nil {
		return fmt.Errorf("close allocation server: %w", err)
	}
	return nil
}
