package agent

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpumem/gpumem/tracer/record"
)

// ear is a Handler that remembers what it heard.
type ear struct {
	mu      sync.Mutex
	conns   []*Conn
	samples [][]record.Cell
	times   []int64
	marks   []Mark
	dones   []Done
	hellos  []Hello
	gone    []error
	refused []error
}

func (e *ear) Message(c *Conn, m *Message) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !slices.Contains(e.conns, c) {
		e.conns = append(e.conns, c)
	}
	if m.Hello != nil {
		e.hellos = append(e.hellos, *m.Hello)
	}
	if m.Sample != nil {
		e.samples = append(e.samples, slices.Clone(m.Sample.Cells))
		e.times = append(e.times, m.Sample.TNs)
	}
	if m.Mark != nil {
		e.marks = append(e.marks, *m.Mark)
	}
	if m.Done != nil {
		e.dones = append(e.dones, *m.Done)
	}
}

func (e *ear) Gone(c *Conn, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.gone = append(e.gone, err)
}

func (e *ear) Refused(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refused = append(e.refused, err)
}

// all is what was heard so far.
func (e *ear) all() *ear {
	e.mu.Lock()
	defer e.mu.Unlock()
	return &ear{
		conns: slices.Clone(e.conns), samples: slices.Clone(e.samples), times: slices.Clone(e.times),
		marks: slices.Clone(e.marks),
		dones: slices.Clone(e.dones), hellos: slices.Clone(e.hellos), gone: slices.Clone(e.gone),
		refused: slices.Clone(e.refused),
	}
}

// heard waits until what was heard satisfies cond.
func (e *ear) heard(t testing.TB, what string, cond func() bool) {
	for range 10_000 {
		e.mu.Lock()
		ok := cond()
		e.mu.Unlock()
		if ok {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("waited in vain for %s", what)
}

// listen serves a fresh ear.
func listen(t testing.TB) (*Server, *ear) {
	e := &ear{}
	s, err := Listen(e, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, e
}

// dial makes a client as Connect does, less the environment.
func dial(t testing.TB, s *Server, h Hello, src Source, interval time.Duration, hold bool) *Client {
	conn, err := dialTracer(s.Path(), helloBound)
	if err != nil {
		t.Fatal(err)
	}
	c, err := newClient(conn.(*net.UnixConn), h, src)
	if err != nil {
		t.Fatal(err)
	}
	c.interval, c.hold = interval, hold
	c.start()
	t.Cleanup(func() { c.Close() })
	return c
}

func value(cells []record.Cell, column string) (int64, bool) {
	for _, c := range cells {
		if c.Column == column {
			return c.Value, true
		}
	}
	return 0, false
}

func TestWithoutATracerEveryMethodDoesNothing(t *testing.T) {
	t.Setenv(EnvSocket, "")
	c, err := Connect(Hello{}, nil)
	if c != nil || err != nil {
		t.Fatalf("got %v, %v", c, err)
	}
	c.Step(1)
	c.Phase("x")
	c.Mark("event", "x", "")
	c.Handle(ActionPurge, nil)
	if c.Dropped() != 0 || c.Close() != nil {
		t.Error("a nil client did something")
	}
	t.Setenv(EnvSocket, filepath.Join(t.TempDir(), "nobody"))
	if c, err := Connect(Hello{}, nil); c != nil || err == nil {
		t.Errorf("got %v, %v", c, err)
	}
}

func TestConnectTakesIntervalAndHoldFromTheEnvironment(t *testing.T) {
	s, e := listen(t)
	t.Setenv(EnvSocket, s.Path())
	t.Setenv(EnvInterval, "7.5")
	t.Setenv(EnvHold, "1")
	c, err := Connect(Hello{Agent: "mine", Device: "soft"}, nil)
	if err != nil || c.interval != 7500*time.Microsecond || !c.hold {
		t.Fatalf("%+v, %v", c, err)
	}
	e.heard(t, "hello", func() bool { return len(e.hellos) > 0 && len(e.samples) > 1 })
	h := e.all().hellos[0]
	if h.V != 1 || h.PID != os.Getpid() || h.Agent != "mine" || h.Device != "soft" ||
		!slices.Equal(h.Actions, []string{"collect", "trim"}) || h.Versions["go"] != runtime.Version() {
		t.Errorf("hello %+v", h)
	}
	e.all().conns[0].Do(ActionContinue)
	if err := c.Close(); err != nil || c.Close() != nil {
		t.Error(err)
	}
	for in, want := range map[string]time.Duration{"": 50 * time.Millisecond, "x": 50 * time.Millisecond,
		"0": 50 * time.Millisecond, "-3": 50 * time.Millisecond, "NaN": 50 * time.Millisecond,
		"1e9": 50 * time.Millisecond, "20": 20 * time.Millisecond} {
		if got := envInterval(in); got != want {
			t.Errorf("%q: %v", in, got)
		}
	}
}

// A tracer that reads a client late must hear when a line cannot wait.
func TestAClientKnocksAfterPhasesAndAnswers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	lis, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	t.Setenv(EnvSocket, path)
	c, err := Connect(Hello{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	conn, err := lis.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	if lines.Scan(); !strings.Contains(lines.Text(), `"knocks":true`) {
		t.Errorf("hello %s", lines.Text())
	}
	for _, word := range []string{`"name":"one"`, `"done"`, `"name":"two"`} {
		if word == `"done"` {
			io.WriteString(conn, `{"do":{"id":1,"action":"collect"}}`+"\n")
		} else {
			c.Step(1) // tells, but does not knock
			c.Phase(strings.Split(word, `"`)[3])
		}
		knock, err := lis.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(knock); len(text) > 0 || err != nil {
			t.Errorf("a knock said %q, %v", text, err)
		}
		for lines.Scan() && !strings.Contains(lines.Text(), word) {
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBaselineAndReleasedWaitForTheDriversBooks(t *testing.T) {
	s, e := listen(t)
	t.Setenv(EnvSocket, s.Path())
	t.Setenv(EnvSettle, "60")
	c, err := Connect(Hello{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	begin := c.clock.Now()
	for _, phase := range []string{"training", record.PhaseBaseline, record.PhaseReleased} {
		c.Phase(phase)
	}
	e.heard(t, "phases", func() bool { return len(e.marks) == 3 })
	marks := e.all().marks
	for i, least := range []time.Duration{0, 60 * time.Millisecond, 120 * time.Millisecond} {
		if after := time.Duration(marks[i].TNs - begin); after < least {
			t.Errorf("%s was marked %v after the beginning, before %v had passed", marks[i].Name,
				after, least)
		}
	}
	for in, want := range map[string]time.Duration{"": 0, "x": 0, "-3": 0, "NaN": 0, "1e9": 5 * time.Second,
		"400": 400 * time.Millisecond} {
		if got := envSettle(in); got != want {
			t.Errorf("%q: %v", in, got)
		}
	}
}

func TestSamplesComeEachIntervalAndAtSteps(t *testing.T) {
	t.Parallel()
	s, e := listen(t)
	live := int64(0)
	c := dial(t, s, Hello{}, func(cells []record.Cell) []record.Cell {
		live++
		return append(cells, record.Cell{Column: record.ColLive, Value: live},
			record.Cell{Column: "not sendable", Value: 1})
	}, time.Hour, false)
	e.heard(t, "the first sample", func() bool { return len(e.samples) == 1 })
	before := c.clock.Now()
	c.Step(7)
	e.heard(t, "the sample of a step", func() bool { return len(e.samples) == 2 })
	cells := e.all().samples[1]
	step, _ := value(cells, record.ColStep)
	got, _ := value(cells, record.ColLive)
	dropped, sent := value(cells, record.ColDropped)
	heap, _ := value(cells, record.ColHostHeap)
	if step != 7 || got != 2 || dropped != 0 || !sent || heap < 100_000 || e.all().times[1] < before ||
		e.all().times[1] > c.clock.Now() {
		t.Errorf("sample %v at %d", cells, e.all().times[1])
	}
	if _, sent := value(cells, "not sendable"); sent {
		t.Error("a column that is no name was sent")
	}
	// A storm of steps leads to at most one sample a millisecond.
	start := time.Now()
	for n := range int64(200_000) {
		c.Step(n)
	}
	most := int(time.Since(start)/time.Millisecond) + 5 // first, step 7, phase, and both ends
	c.Phase("end")
	e.heard(t, "the mark", func() bool { return len(e.marks) == 1 })
	if n := len(e.all().samples); n > most {
		t.Errorf("%d samples, at most %d", n, most)
	}
	if m := e.all().marks[0]; m.Kind != record.KindPhase || m.Name != "end" || m.Step != 199_999 ||
		m.TNs == 0 {
		t.Errorf("mark %+v", m)
	}
}

func TestActionsAreAnsweredWhileTheProgramHolds(t *testing.T) {
	t.Parallel()
	s, e := listen(t)
	c := dial(t, s, Hello{}, nil, time.Hour, true)
	claimed := int64(77)
	c.Handle(ActionPurge, func() Done { return Done{ClaimedBytes: &claimed} })
	c.Handle(ActionSites, func() Done {
		return Done{Detail: json.RawMessage(`"` + strings.Repeat("x", 2<<20) + `"`)}
	})
	closed := make(chan error, 1)
	go func() { closed <- c.Close() }()
	e.heard(t, "exiting", func() bool { return len(e.marks) == 1 && e.marks[0].Name == PhaseExiting })
	for _, action := range []string{ActionPurge, ActionCollect, ActionTrim, ActionSites, "dance"} {
		if _, err := e.all().conns[0].Do(action); err != nil {
			t.Fatal(err)
		}
	}
	e.heard(t, "five answers", func() bool { return len(e.dones) == 5 })
	select {
	case <-closed:
		t.Fatal("the program did not hold")
	default:
	}
	d := e.all().dones
	if *d[0].ClaimedBytes != 77 || d[1].ClaimedBytes == nil || d[2].ClaimedBytes == nil || d[3].Error == "" ||
		!strings.Contains(d[4].Error, `"dance" is not offered`) {
		t.Errorf("answers %+v", d)
	}
	for i := range d {
		if d[i].ID != int64(i+1) {
			t.Errorf("answer %d has id %d", i, d[i].ID)
		}
	}
	last := e.all().hellos[len(e.all().hellos)-1].Actions
	if !slices.Equal(last, []string{"collect", "purge", "sites", "trim"}) {
		t.Errorf("offered %v", last)
	}
	if _, err := e.all().conns[0].Do(ActionContinue); err != nil {
		t.Fatal(err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	e.heard(t, "the end", func() bool { return len(e.gone) == 1 })
	if e.all().gone[0] != nil {
		t.Errorf("ended with %v", e.all().gone[0])
	}
	c.Step(1) // after Close nothing happens
}

func TestAProgramOutlivesItsTracer(t *testing.T) {
	t.Parallel()
	s, e := listen(t)
	c := dial(t, s, Hello{}, nil, time.Millisecond, true)
	e.heard(t, "a sample", func() bool { return len(e.samples) > 2 })
	s.Close()
	<-c.dead
	c.Step(1)
	c.Phase("x")
	if err := c.Close(); err != nil { // does not hold for a dead tracer
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(s.Path())); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket's folder: %v", err)
	}
}

func TestATracerThatDoesNotReadCostsSamplesAndNoTime(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	lis, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	peer, err := lis.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	c, err := newClient(conn.(*net.UnixConn), Hello{}, func(cells []record.Cell) []record.Cell {
		return append(cells, record.Cell{Column: record.ColLive, Value: 1})
	})
	if err != nil {
		t.Fatal(err)
	}
	c.interval = time.Hour
	c.start()
	for range 20_000 {
		c.mu.Lock()
		c.sample(c.clock.Now())
		c.mu.Unlock()
	}
	dropped := c.Dropped()
	if dropped == 0 || len(c.out) > sampleRoom {
		t.Fatalf("%d dropped, %d bytes wait", dropped, len(c.out))
	}
	// What was not dropped arrives whole once the tracer reads again.
	done := make(chan []byte)
	go func() {
		data, _ := io.ReadAll(peer)
		done <- data
	}()
	c.Phase("after")
	c.Close()
	lines := strings.Split(strings.TrimSuffix(string(<-done), "\n"), "\n")
	for i, line := range lines {
		if !json.Valid([]byte(line)) {
			t.Fatalf("line %d of %d: %q", i+1, len(lines), line)
		}
	}
	text := strings.Join(lines[len(lines)-4:], "\n")
	if !strings.Contains(text, `"name":"after"`) || !strings.Contains(text, PhaseExiting) {
		t.Errorf("the marks are not among the last lines:\n%s", text)
	}
	if got := len(lines); int64(got) > 20_006-dropped {
		t.Errorf("%d lines arrived and %d were dropped", got, dropped)
	}
}

func TestTheServerClosesOnlyTheConnectionThatMisbehaves(t *testing.T) {
	t.Parallel()
	s, e := listen(t)
	good := dial(t, s, Hello{}, nil, time.Hour, false)
	hello := fmt.Sprintf(`{"hello":{"v":1,"pid":%d}}`+"\n", os.Getpid())
	for _, c := range []struct{ said, want string }{
		{"garbage\n", "not a JSON object"},
		{`{"mark":{"kind":"step"}}` + "\n", "comes before hello"},
		{`{"hello":{"v":1,"pid":1}}` + "\n", "hello says pid 1"},
		{`{"hello":{"pid":` + fmt.Sprint(os.Getpid()) + `}}` + "\n", "hello of version 0"},
		{hello + "[1]\n", "not a JSON object"},
		{hello + strings.Repeat(" ", maxLine+1) + "\n", "over 1048576 bytes"},
		{hello + `{"hello":{"v":1,"pid":1}}` + "\n", "hello says pid 1"},
		{hello + `{"sample":{"a` + "\xff" + `":1}}` + "\n" + `{"sample":[]}` + "\n", "not a JSON object"},
	} {
		conn, err := net.Dial("unix", s.Path())
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, c.said)
		if _, err := io.Copy(io.Discard, conn); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Error(err)
		}
		conn.Close()
		e.heard(t, c.want, func() bool {
			return slices.ContainsFunc(append(slices.Clone(e.gone), e.refused...), func(err error) bool {
				return err != nil && strings.Contains(err.Error(), c.want)
			})
		})
	}
	for _, quiet := range []string{"", hello, hello + `{"sample":{"t_ns":1,"a`,
		hello + "\n\r\n" + `{"do":{}}` + "\n"} {
		conn, err := net.Dial("unix", s.Path())
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, quiet)
		conn.Close()
	}
	s.Drain(10 * time.Millisecond) // the good one stays
	good.Step(5)
	e.heard(t, "the good agent", func() bool {
		return slices.ContainsFunc(e.samples,
			func(c []record.Cell) bool { v, _ := value(c, record.ColStep); return v == 5 })
	})
	if n := len(e.all().gone) + len(e.all().refused); n != 8+3 {
		t.Errorf("%d connections ended, %v %v", n, e.all().gone, e.all().refused)
	}
}

func TestDrainWaitsForWhatEndedProgramsSaid(t *testing.T) {
	t.Parallel()
	for range 20 {
		s, e := listen(t)
		conn, err := net.Dial("unix", s.Path())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, `{"hello":{"v":1,"pid":%d}}`+"\n", os.Getpid())
		for n := range 500 {
			fmt.Fprintf(conn, `{"sample":{"t_ns":1,"step":%d}}`+"\n", n)
		}
		conn.Close()
		s.Drain(5 * time.Second)
		if n := len(e.all().samples); n != 500 {
			t.Fatalf("%d samples of 500", n)
		}
	}
}

func TestTheSocketIsForItsOwnerAlone(t *testing.T) {
	s, _ := listen(t)
	info, err := os.Stat(filepath.Dir(s.Path()))
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	deep := filepath.Join(t.TempDir(), strings.Repeat("d", 120))
	if err := os.Mkdir(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", deep)
	far, _ := listen(t)
	if strings.HasPrefix(far.Path(), deep) {
		t.Errorf("socket at %s", far.Path())
	}
}

func TestSitesDetailKeepsTheLargestThatFit(t *testing.T) {
	t.Parallel()
	var sites []record.Site
	for i := range 30_000 {
		sites = append(sites, record.Site{Site: strings.Repeat("s", 60), Bytes: int64(i)})
	}
	var got struct{ Sites []record.Site }
	detail := SitesDetail(sites)
	if err := json.Unmarshal(detail, &got); err != nil || len(detail) > maxLine ||
		got.Sites[0].Bytes != 29_999 || sites[0].Bytes != 0 {
		t.Errorf("%d bytes, %d sites, %v", len(detail), len(got.Sites), err)
	}
	if string(HoldersDetail(nil)) != `{"holders":[]}` {
		t.Errorf("none: %s", HoldersDetail(nil))
	}
}

func TestClockNeverRunsBack(t *testing.T) {
	t.Parallel()
	a, b := NewClock(), NewClock()
	last := int64(0)
	for range 1000 {
		now := a.Now()
		if now < last || now <= 0 {
			t.Fatalf("%d after %d", now, last)
		}
		if other := b.Now(); other-now > 10_000_000 || now-other > 10_000_000 {
			t.Fatalf("two clocks differ by %d ns", other-now)
		}
		last = now
	}
}
