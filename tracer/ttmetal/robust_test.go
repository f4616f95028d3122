package ttmetal

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// stuck is a writer that takes nothing until it is let go.
type stuck struct{ let chan struct{} }

func (w stuck) Write(b []byte) (int, error) { <-w.let; return len(b), nil }

func TestAStalledReaderOfTheLinesStallsNoProgram(t *testing.T) {
	t.Parallel()
	w := stuck{make(chan struct{})}
	s := serve(t, Options{Out: w, TrustPIDs: true})
	c := connect(t, s)
	var b []byte
	const n = mostEvents + 50_000
	for i := range uint64(n) {
		b = alloc(0, i, 1, DRAM, 1).Append(b, V1)
	}
	send(t, c, b)
	settle(t, s, n)
	if got := s.Books().Live(); got != n {
		t.Errorf("%d buffers on the books, want %d", got, n)
	}
	if s.Counts().Lost == 0 {
		t.Error("no line was lost: the test did not fill the printer")
	}
	close(w.let)
}

// full is a disk without room, until there is.
type full struct {
	screen
	room bool
}

func (w *full) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.room {
		n := min(len(b), 10)
		w.text.Write(b[:n])
		return n, errors.New("no space left on device")
	}
	return w.text.Write(b)
}

func TestAFullDiskLosesLinesButNoBooksAndSaysHowMany(t *testing.T) {
	t.Parallel()
	log := &full{}
	var warned screen
	s := serve(t, Options{Log: log, TrustPIDs: true, Warn: func(text string) { fmt.Fprintln(&warned, text) }})
	c := connect(t, s)
	for i := range uint64(100) {
		send(t, c, alloc(0, i, 1, DRAM, 1).Append(nil, V1))
	}
	settle(t, s, 100)
	eventually(t, func() bool { return s.Counts().Lost == 100 },
		func() string { return fmt.Sprintf("%+v", s.Counts()) })
	log.mu.Lock()
	log.room = true
	log.mu.Unlock()
	log.awaits(t, "⚠ 100 lines were not printed")
	send(t, c, free(0, 5, 1).Append(nil, V1))
	log.awaits(t, "Freed buffer 5")
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "✗") && !strings.HasPrefix(line, "✗") {
			t.Errorf("a line begins within a torn one: %q", line)
		}
	}
	if got := warned.String(); strings.Count(got, "no space left") != 1 {
		t.Errorf("warned: %q, want once", got)
	}
	if got := s.Books().Live(); got != 99 {
		t.Errorf("%d buffers on the books, want 99", got)
	}
}

func TestTenBadMessagesInARowCloseTheirConnectionOnly(t *testing.T) {
	t.Parallel()
	var out screen
	s := serve(t, Options{Out: &out, TrustPIDs: true})
	good, bad := connect(t, s), connect(t, s)
	send(t, good, alloc(0, 1, 1, DRAM, 1).Append(nil, V1))
	var b []byte
	for range mostBad - 1 {
		b = alloc(99999, 1, 1, DRAM, 1).Append(b, V1)
	}
	b = alloc(0, 2, 1, DRAM, 1).Append(b, V1) // a good one between starts the count anew
	for i := range mostBad + 5 {
		q := alloc(0, 1, 1, DRAM, 1)
		q.Kind = Kind(200 + i)
		b = q.Append(b, V1)
	}
	send(t, bad, b)
	bad.SetReadDeadline(time.Now().Add(patience))
	if n, err := bad.Read(make([]byte, 1)); n != 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the bad connection reads %d, %v; want the end", n, err)
	}
	out.awaits(t, "10 bad messages in a row")
	send(t, good, alloc(0, 3, 1, DRAM, 1).Append(nil, V1))
	eventually(t, func() bool { return s.Books().Live() == 3 },
		func() string { return fmt.Sprint(s.Books().Live(), " buffers") })
	if c := s.Counts(); c.Broken != 1 || c.Refused != 2*mostBad-1 {
		t.Errorf("%+v", c)
	}
}

func TestHalfMessagesAreCountedAndNotApplied(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{TrustPIDs: true})
	whole := alloc(0, 1, 1, DRAM, 1).Append(nil, V2)
	for _, cut := range []int{1, 39, 40, 71, 73, 100, 111} {
		c := connect(t, s)
		send(t, c, whole[:cut])
		c.Close()
	}
	eventually(t, func() bool { return s.Counts().Cut == 7 }, func() string { return fmt.Sprintf("%+v", s.Counts()) })
	if s.Books().Live() != 0 {
		t.Errorf("%d buffers", s.Books().Live())
	}
	c := connect(t, s)
	next := alloc(0, 2, 1, DRAM, 1).Append(nil, V2)
	send(t, c, append(append([]byte{}, whole...), next[:50]...))
	c.Close()
	eventually(t, func() bool { return s.Counts().Cut == 8 }, func() string { return fmt.Sprintf("%+v", s.Counts()) })
	if s.Books().Live() != 1 {
		t.Errorf("%d buffers, want the whole one", s.Books().Live())
	}
}

func TestAClientThatDripsByteByByteIsUnderstood(t *testing.T) {
	t.Parallel()
	for _, size := range sizes {
		s := serve(t, Options{TrustPIDs: true})
		c := connect(t, s)
		b := alloc(0, 1, 5, DRAM, 1).Append(nil, size)
		b = alloc(0, 2, 7, DRAM, 1).Append(b, size)
		b = Request{Kind: Query}.Append(b, size)
		for i := range b {
			send(t, c, b[i:i+1])
			if i%24 == 23 {
				time.Sleep(idleGap * 2) // silence must not be taken for an end
			}
		}
		if r := DecodeReply(received(t, c, size)); r.Used[CountDRAM] != 12 {
			t.Errorf("of %d bytes: %+v", size, r)
		}
	}
}

func TestAClientThatNeverReadsItsRepliesHurtsNobodyElse(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	s := serve(t, Options{TrustPIDs: true})
	flood := connect(t, s)
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 0, 1000*V4)
		for range 1000 {
			b = Request{Kind: Query}.Append(b, V4)
		}
		for {
			if _, err := flood.Write(b); err != nil {
				return // the server gave it up
			}
		}
	}()
	for range 20 {
		used(t, s, 0)
	}
	<-done
}

func TestAFloodOfDumpRequestsIsSurvived(t *testing.T) {
	t.Parallel()
	w := stuck{make(chan struct{})}
	s := serve(t, Options{Out: w, TrustPIDs: true})
	c := connect(t, s)
	b := alloc(0, 1, 1, DRAM, 1).Append(nil, V1)
	for range 20_000 {
		b = Request{Kind: DumpRemaining}.Append(b, V1)
	}
	go c.Write(b) //nolint:errcheck // the server may be closed before all is sent
	for range 20 {
		used(t, s, 0)
	}
	settle(t, s, 20_001)
	if s.Counts().Lost == 0 {
		t.Error("nothing was lost: the text is not bounded")
	}
	close(w.let)
}

func TestWhoLiesAboutItsPIDIsChargedItself(t *testing.T) {
	t.Parallel()
	for _, trust := range []bool{false, true} {
		var out screen
		s := serve(t, Options{Out: &out, TrustPIDs: trust, Processes: System{}})
		c := connect(t, s)
		b := alloc(0, 1, 1, DRAM, 1).Append(nil, V1) // PID 1 is somebody else
		b = alloc(0, 2, 1, DRAM, int32(os.Getpid())).Append(b, V1)
		b = alloc(0, 3, 1, DRAM, 0).Append(b, V1)
		send(t, c, b)
		settle(t, s, 3)
		pids := map[HexID]int32{}
		s.Books().Each(func(b Buffer) error { pids[b.ID] = b.PID; return nil })
		want := map[HexID]int32{1: int32(os.Getpid()), 2: int32(os.Getpid()), 3: int32(os.Getpid())}
		lies := uint64(1)
		if trust || peerPID(c) == 0 {
			want[1], want[3], lies = 1, 0, 0
		}
		for id, pid := range want {
			if pids[id] != pid {
				t.Errorf("trust %v: buffer %d is charged to %d, want %d", trust, id, pids[id], pid)
			}
		}
		if got := s.Counts().Lies; got != lies {
			t.Errorf("trust %v: %d lies, want %d", trust, got, lies)
		}
		if lies > 0 {
			out.awaits(t, "claims to be PID 1; it is charged itself")
		}
	}
}

func TestTheSocketIsTheUsersOwnUnlessShared(t *testing.T) {
	t.Parallel()
	for shared, want := range map[bool]fs.FileMode{false: 0o600, true: 0o666} {
		s := serve(t, Options{Shared: shared})
		info, err := os.Stat(s.o.Socket)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("shared %v: %v, %v", shared, info.Mode(), err)
		}
		left, err := os.ReadDir(filepath.Dir(s.o.Socket))
		if err != nil || len(left) != 1 {
			t.Errorf("beside the socket lie %v", left)
		}
	}
}

func TestAStaleSocketIsReplacedAndAServedOneIsNot(t *testing.T) {
	t.Parallel()
	path := filepath.Join(shortDir(t), "s")
	lis, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	lis.SetUnlinkOnClose(false)
	lis.Close() // the file stays, as after a SIGKILL
	first := serve(t, Options{Socket: path})
	if _, err := Listen(Options{Socket: path}); !errors.Is(err, ErrServed) {
		t.Errorf("a second server at the same path: %v, want %v", err, ErrServed)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after the end: %v, want no file", err)
	}
	slow, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	for runtime.GOOS == "linux" { // nobody accepts: the backlog fills up, which is no refusal there
		c, err := net.Dial("unix", path)
		if err != nil {
			break
		}
		defer c.Close()
	}
	if _, err := Listen(Options{Socket: path}); err == nil {
		t.Error("a server with a full backlog is replaced")
	}
	slow.Close()
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(Options{Socket: path}); err == nil || !strings.Contains(err.Error(), "not a socket") {
		t.Errorf("over a file: %v", err)
	}
}

func TestDumpsNameWhatDeadProcessesLeftHoweverOftenTheyAreAsked(t *testing.T) {
	t.Parallel()
	w := &world{}
	s := serve(t, Options{Processes: w, TrustPIDs: true})
	enter := func(pid int32, n uint64) {
		for i := range n {
			q := alloc(0, uint64(pid)<<32|i, 10, DRAM, pid)
			s.Books().apply(&q, process{pid: pid, owner: pid})
		}
	}
	enter(5, 2)
	before := dumped(t, s.o.Socket)
	w.kill(5)
	enter(6, 3)
	first := dumped(t, s.o.Socket)
	w.kill(6)
	for range 2 { // the first to ask takes nothing away
		second := dumped(t, s.o.Socket)
		if n, size := second.Remaining(); n != 5 || size != 50 {
			t.Errorf("since the start %d buffers, %d bytes; want 5, 50", n, size)
		}
		second.Since(first)
		if n, _ := second.Remaining(); n != 3 {
			t.Errorf("since the dump before %d buffers, want the 3 of process 6", n)
		}
	}
	first.Since(before)
	if n, _ := first.Remaining(); n != 5 {
		t.Errorf("the first dump has %d buffers, want the 2 of process 5, which had ended, and 3 live", n)
	}
}

func TestCloseReadsWhatWasSentAndLeavesASocketThatIsNotItsOwn(t *testing.T) {
	t.Parallel()
	var out screen
	s := serve(t, Options{Out: &out, Quiet: true, TrustPIDs: true})
	c := connect(t, s)
	var b []byte
	for i := range uint64(5000) {
		b = alloc(0, i, 1, DRAM, 1).Append(b, V1)
	}
	send(t, c, b) // the last of it lies in the socket
	if err := os.Remove(s.o.Socket); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.o.Socket, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(out.String(), "Active allocations: 5000\n") {
		t.Errorf("the last statistics are\n%s", out.String())
	}
	if _, err := os.Stat(s.o.Socket); err != nil {
		t.Errorf("the other file: %v", err)
	}
}

func TestTenThousandConnectionsAreServed(t *testing.T) {
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	const want = 10_000
	socket, _ := childServer(t, shortDir(t), false) // each process may have some 20,000 descriptors
	var conns []net.Conn
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	for i := range want {
		var c net.Conn
		eventually(t, func() (ok bool) { // connect is refused while the backlog is full
			var err error
			c, err = net.Dial("unix", socket)
			return err == nil
		}, func() string { return fmt.Sprintf("connection %d is refused", i) })
		conns = append(conns, c)
		size := sizes[i%4]
		send(t, c, alloc(int32(i%8), uint64(i), 64, L1, 1).Append(nil, size))
		if i%2 == 0 {
			send(t, c, free(int32(i%8), uint64(i), 1).Append(nil, size))
		}
	}
	for i, c := range conns { // all of them still are connected and read
		send(t, c, Request{Kind: Query}.Append(nil, sizes[i%4]))
		received(t, c, sizes[i%4])
	}
	totals, err := AskTotals(socket, 8, patience)
	if err != nil {
		t.Fatal(err)
	}
	for d, row := range totals {
		kept := uint64(d % 2 * want / 8 * 64)
		if row.Used["L1"] != kept {
			t.Errorf("device %d holds %d bytes, want %d", d, row.Used["L1"], kept)
		}
	}
}

// TestBooksStayRightAmongClientsWithRandomFaults is a soak: many clients of all sizes, that
// stop in the middle of messages, send nonsense and come again; what they sent
// whole is compared with a model.
func TestBooksStayRightAmongClientsWithRandomFaults(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{TrustPIDs: true, Out: &screen{}})
	const clients = 12
	models := make([]model, clients)
	var wg sync.WaitGroup
	for i := range clients {
		models[i] = model{}
		wg.Add(1)
		go func() {
			defer wg.Done()
			r := rand.New(rand.NewPCG(uint64(i), 9))
			for range 40 {
				faultyClient(t, s, r, models[i], i, clients)
			}
		}()
	}
	wg.Wait()
	all := model{}
	for _, m := range models {
		for k, v := range m {
			all[k] = v
		}
	}
	all.agrees(t, s.Books())
}

// faultyClient is one connection with ids of its own. It ends by asking, so
// that all it sent is read, and sometimes by a half message.
func faultyClient(t *testing.T, s *Server, r *rand.Rand, m model, i, clients int) {
	c, err := net.Dial("unix", s.o.Socket)
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close()
	size := sizes[r.IntN(4)]
	var b []byte
	for range 1 + r.IntN(300) {
		q := churn(r, int32(i)+1, 300)
		q.ID = q.ID*uint64(clients) + uint64(i)
		if r.IntN(20) == 0 {
			q.Device = -5 // refused
		} else {
			m.apply(&q)
		}
		b = q.Append(b, size)
	}
	b = Request{Kind: Query}.Append(b, size)
	for len(b) > 0 {
		n := min(1+r.IntN(5000), len(b))
		if _, err := c.Write(b[:n]); err != nil {
			t.Error(err)
			return
		}
		b = b[n:]
	}
	received(t, c, size)
	if r.IntN(2) == 0 {
		c.Write(alloc(0, 1, 1, DRAM, 1).Append(nil, size)[:1+r.IntN(size-1)]) //nolint:errcheck // it dies
	}
}
