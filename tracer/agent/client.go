package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/gpumem/gpumem/tracer/record"
)

const (
	// minStepGap bounds the samples taken at step marks to 1,000 a second.
	minStepGap = int64(time.Millisecond)
	// sampleRoom and messageRoom bound what waits for the socket: samples are
	// dropped first, so that marks and answers still find room.
	sampleRoom  = 64 << 10
	messageRoom = maxLine + sampleRoom
	// firstBound, heardBound and askedBound are how long Close waits for the
	// tracer's next word: for the first, between two heards, and for a tracer that
	// asks and never says heard. A stopped tracer costs the program firstBound.
	firstBound = 2 * time.Second
	heardBound = 5 * time.Second
	askedBound = 60 * time.Second
	// knockBound is how long the tracer may take to accept a knock.
	knockBound = 20 * time.Millisecond
	// flushBound is how long Close waits for the socket to take the rest.
	flushBound = 200 * time.Millisecond
)

// Source appends the program's present values to cells and returns the
// extended slice, as append does. The client calls it from its own goroutine
// and from the callers of Step and Phase, never twice at once, with a lock
// held: it must be quick, must not call the client, and must not take a lock
// that a caller of Step or Phase holds. Column names are those of package
// record; a value that is unknown is left out. The client itself adds step,
// dropped and, unless the source gives it, host_heap_bytes.
type Source func(cells []record.Cell) []record.Cell

// Client reports on this program to its tracer. A nil *Client, which Connect
// returns when no tracer runs, is valid: every method does nothing. All
// methods are safe for concurrent use, and none but Close and, where
// GPUMEM_SETTLE_MS asks for it, Phase waits.
// When the tracer dies the client falls silent.
type Client struct {
	conn     *net.UnixConn
	path     string // of the tracer's socket, to knock at; empty does not
	clock    Clock
	src      Source
	interval time.Duration
	hold     bool
	settle   time.Duration // how late the driver may tell what it charges

	mu         sync.Mutex
	hello      Hello
	sender     *sender
	out        []byte // encoded, not yet taken by the socket
	enc        sampleEncoder
	cells      []record.Cell
	heap       goHeap
	step       int64
	stepped    bool
	lastStep   int64 // when a step mark last led to a sample
	lastSample int64
	dropped    int64
	handlers   map[string]func() Done

	dead     chan struct{} // closed when the connection is over
	deadOnce sync.Once
	released chan struct{} // closed by continue
	asked    chan struct{} // a request came: the hold goes on
	heard    chan struct{} // the tracer lives: likewise
	requests chan Do
	closing  sync.Once
	workers  sync.WaitGroup
}

// Connect joins the tracer named by the environment variable GPUMEM_AGENT.
// Without one it returns nil and no error; when the tracer cannot be reached it
// returns nil and an error that a program may ignore. h.V, h.PID and h.Knocks
// are set by Connect, h.Agent is "go" when empty, h.Rank what the environment
// says when nil. src may be nil. The actions collect (garbage of Go) and trim
// (free heap of Go) are offered from the start; the first sample is sent at
// once. The caller calls Close at the program's end.
func Connect(h Hello, src Source) (*Client, error) {
	path := os.Getenv(EnvSocket)
	if path == "" {
		return nil, nil
	}
	conn, err := dialTracer(path, 2*time.Second)
	if err != nil {
		return nil, fmt.Errorf("connect to tracer: %w", err)
	}
	h.Knocks = true
	c, err := newClient(conn.(*net.UnixConn), h, src)
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("connect to tracer: %w", err)
	}
	c.path = path
	c.interval, c.hold = envInterval(os.Getenv(EnvInterval)), os.Getenv(EnvHold) == "1"
	c.settle = envSettle(os.Getenv(EnvSettle))
	c.start()
	return c, nil
}

func newClient(conn *net.UnixConn, h Hello, src Source) (*Client, error) {
	s, err := newSender(conn)
	if err != nil {
		return nil, err
	}
	h.V, h.PID = Version, os.Getpid()
	if h.Agent == "" {
		h.Agent = "go"
	}
	if h.Rank == nil {
		h.Rank = Rank(os.Getenv)
	}
	h.Versions = maps.Clone(h.Versions)
	if h.Versions == nil {
		h.Versions = map[string]string{}
	}
	h.Versions["go"] = runtime.Version()
	return &Client{
		conn: conn, clock: NewClock(), src: src, sender: s, hello: h, heap: newGoHeap(),
		interval: defaultInterval,
		handlers: map[string]func() Done{ActionCollect: collectGo, ActionTrim: trimGo},
		dead:     make(chan struct{}), released: make(chan struct{}),
		asked: make(chan struct{}, 1), heard: make(chan struct{}, 1), requests: make(chan Do, 64),
	}, nil
}

// start introduces the program and begins to sample and to listen.
func (c *Client) start() {
	c.mu.Lock()
	c.sayHello()
	c.sample(c.clock.Now())
	c.mu.Unlock()
	c.workers.Add(2)
	go c.tick()
	go c.listen()
	go c.act() // not waited for: it runs the program's own functions
}

// Step says that step n has been reached. The tracer's rows carry it from now
// on, and one is taken right away, at most 1,000 a second.
func (c *Client) Step(n int64) {
	if c == nil || c.over() {
		return
	}
	now := c.clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.step, c.stepped = n, true
	if now-c.lastStep >= minStepGap {
		c.lastStep = now
		c.sample(now)
	}
}

// Phase marks the beginning of a phase: record.PhaseBaseline,
// record.PhaseReleased, or a word of the program's own. A sample is taken with
// it. Before the first two it waits for as long as the tracer asked for, so that
// what the driver charges has been told when the two are compared. It takes some
// tens of microseconds: the tracer is to read it now.
func (c *Client) Phase(name string) {
	if name == record.PhaseBaseline || name == record.PhaseReleased {
		c.rest()
	}
	c.mark(Mark{Kind: record.KindPhase, Name: name}, true)
	c.knock()
}

// dialTracer connects within a bound. Linux refuses at once while more programs wait to
// be accepted than may: that passes.
func dialTracer(path string, bound time.Duration) (net.Conn, error) {
	deadline := time.Now().Add(bound)
	for {
		conn, err := (&net.Dialer{Deadline: deadline}).Dial("unix", path)
		if !errors.Is(err, syscall.EAGAIN) || time.Now().After(deadline) {
			return conn, err
		}
		time.Sleep(time.Millisecond)
	}
}

// knock has the tracer read now what was sent (see Hello.Knocks). Where that
// fails it reads some hundredths of a second later.
func (c *Client) knock() {
	if c == nil || c.path == "" || c.over() {
		return
	}
	if conn, err := (&net.Dialer{Timeout: knockBound}).Dial("unix", c.path); err == nil {
		conn.Close()
	}
}

// rest lets the driver's books catch up with the program.
func (c *Client) rest() {
	if c == nil || c.settle == 0 {
		return
	}
	select {
	case <-c.dead:
	case <-time.After(c.settle):
	}
}

// Mark adds a line of the given kind (record.KindScope, KindStatement,
// KindEvent) to events.jsonl. at is "file:line:col" or empty.
func (c *Client) Mark(kind, name, at string) {
	c.mark(Mark{Kind: kind, Name: name, At: at}, false)
}

// MarkDetail is Mark with more to say: detail is JSON of at most 4 KiB, longer ones
// are left out by the tracer.
func (c *Client) MarkDetail(kind, name, at string, detail json.RawMessage) {
	c.mark(Mark{Kind: kind, Name: name, At: at, Detail: detail}, false)
}

func (c *Client) mark(m Mark, withSample bool) {
	if c == nil || c.over() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	m.TNs = c.clock.Now()
	if c.stepped {
		m.Step = c.step
	}
	c.post(encode(envelope{Mark: &m}), messageRoom)
	if withSample {
		c.sampleFor(m.TNs, messageRoom) // the judgement needs it
	}
}

// Handle offers an action (ActionCollect, ActionPurge, ActionTrim, ActionSync,
// ActionSites, ActionHolders) and replaces what answered it before. do runs on
// a goroutine of the client, one action at a time; its Done.ID is set by the
// client, and a panic in it is the program's.
func (c *Client) Handle(action string, do func() Done) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, known := c.handlers[action]
	c.handlers[action] = do
	if !known {
		c.sayHello()
	}
}

// Dropped is the number of lines that the tracer did not take in time.
func (c *Client) Dropped() int64 {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dropped
}

// Close marks the phase exiting and, when the tracer asked for it, stays until
// the tracer has made its experiments: it answers actions until told to
// continue, until the tracer is gone or silent: for 2 s before its first word, later
// for 5 s (see Conn.Heard). Then it closes the connection. A second Close does nothing.
func (c *Client) Close() error {
	if c == nil {
		return nil
	}
	c.closing.Do(func() {
		c.Phase(PhaseExiting)
		if c.hold {
			c.stay()
		}
		c.flush()
		c.end()
		c.workers.Wait()
		c.sender.close()
	})
	return nil
}

// stay waits for the tracer to release the program.
func (c *Client) stay() {
	bound := time.NewTimer(firstBound)
	defer bound.Stop()
	patience := askedBound
	for {
		select {
		case <-c.released:
			return
		case <-c.dead:
			return
		case <-c.heard:
			patience = heardBound
			bound.Reset(patience)
		case <-c.asked:
			bound.Reset(patience)
		case <-bound.C:
			return
		}
	}
}

// over reports whether the connection has ended.
func (c *Client) over() bool {
	select {
	case <-c.dead:
		return true
	default:
		return false
	}
}

// end closes the connection. Nothing is sent after it.
func (c *Client) end() {
	c.deadOnce.Do(func() {
		close(c.dead)
		c.conn.Close()
	})
}

// sayHello sends hello with the actions offered now. The lock is held.
func (c *Client) sayHello() {
	c.hello.Actions = slices.Sorted(maps.Keys(c.handlers))
	c.post(encode(envelope{Hello: &c.hello}), messageRoom)
}

// sample sends the present values. The lock is held.
func (c *Client) sample(now int64) { c.sampleFor(now, sampleRoom) }

// sampleFor sends the present values if no more than room waits. The lock is held.
func (c *Client) sampleFor(now int64, room int) {
	c.lastSample = now
	cells := c.cells[:0]
	if c.stepped {
		cells = append(cells, record.Cell{Column: record.ColStep, Value: c.step})
	}
	if c.src != nil {
		cells = c.src(cells)
	}
	if !slices.ContainsFunc(cells, isHostHeap) {
		cells = c.heap.append(cells, now)
	}
	cells = append(cells, record.Cell{Column: record.ColDropped, Value: c.dropped})
	c.cells = cells
	c.enc.begin(now)
	for i, cell := range cells {
		c.enc.cell(i, cell)
	}
	c.post(c.enc.end(), room)
}

func isHostHeap(cell record.Cell) bool { return cell.Column == record.ColHostHeap }

// post sends a line, or keeps what the socket does not take if room allows, or
// drops it. The lock is held.
func (c *Client) post(line []byte, room int) {
	c.drain()
	if line == nil || c.over() {
		c.dropped++
		return
	}
	if len(c.out) > 0 {
		if len(c.out)+len(line) > room {
			c.dropped++
			return
		}
		c.out = append(c.out, line...)
		return
	}
	n, err := c.sender.send(line)
	if err != nil {
		c.end()
		return
	}
	if n < len(line) {
		c.out = append(c.out, line[n:]...)
	}
}

// drain offers what waits to the socket. The lock is held.
func (c *Client) drain() {
	for len(c.out) > 0 {
		n, err := c.sender.send(c.out)
		if err != nil {
			c.end()
			return
		}
		if n == 0 {
			return
		}
		c.out = c.out[:copy(c.out, c.out[n:])]
	}
}

// flush drains within a bound.
func (c *Client) flush() {
	deadline := time.Now().Add(flushBound)
	for !c.over() && time.Now().Before(deadline) {
		c.mu.Lock()
		c.drain()
		left := len(c.out)
		c.mu.Unlock()
		if left == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
