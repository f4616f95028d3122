package ttmetal

import (
	"bytes"
	"encoding/hex"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is how long a test waits for what must come.
const patience = 20 * time.Second

// screen is a writer that a test can read while it is written.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// awaits waits until the screen shows text.
func (s *screen) awaits(t *testing.T, text string) {
	t.Helper()
	eventually(t, func() bool { return strings.Contains(s.String(), text) }, func() string {
		return "no " + text + " in\n" + s.String()
	})
}

func eventually(t *testing.T, ok func() bool, why func() string) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(why())
		}
	}
}

// shortDir is a folder whose path fits a socket's address.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tt")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// world is processes as a test wants them.
type world struct {
	mu    sync.Mutex
	gone  map[int32]bool
	start map[int32]uint64
}

func (w *world) Gone(pid int32) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gone[pid]
}

func (w *world) Start(pid int32) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.start[pid]
}

func (w *world) kill(pid int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone == nil {
		w.gone = map[int32]bool{}
	}
	w.gone[pid] = true
}

// serve starts a server in a folder of its own, which trusts PIDs and lives in
// a world where nobody dies, unless o says otherwise.
func serve(t testing.TB, o Options) *Server {
	t.Helper()
	if o.Socket == "" {
		o.Socket = filepath.Join(shortDir(t), "s")
	}
	if o.Processes == nil {
		o.Processes = &world{}
	}
	if o.SweepEvery == 0 {
		o.SweepEvery = -1
	}
	if o.StatisticsEvery == 0 {
		o.StatisticsEvery = -1
	}
	s, err := Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func connect(t testing.TB, s *Server) *net.UnixConn {
	t.Helper()
	c, err := net.Dial("unix", s.o.Socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.(*net.UnixConn)
}

func send(t testing.TB, c net.Conn, b []byte) {
	t.Helper()
	if _, err := c.Write(b); err != nil {
		t.Fatal(err)
	}
}

// received reads exactly n bytes.
func received(t testing.TB, c net.Conn, n int) []byte {
	t.Helper()
	b := make([]byte, n)
	c.SetReadDeadline(time.Now().Add(patience))
	if _, err := io.ReadFull(c, b); err != nil {
		t.Fatalf("read %d bytes: %v", n, err)
	}
	return b
}

// used asks for a device's counters by QUERY on a new connection.
func used(t testing.TB, s *Server, device int32) Reply {
	t.Helper()
	c := connect(t, s)
	defer c.Close()
	send(t, c, Request{Kind: Query, Device: device}.Append(nil, V4))
	return DecodeReply(received(t, c, V4))
}

// dumped is a server's dump, read through its socket.
func dumped(t testing.TB, socket string) *Dump {
	t.Helper()
	var raw bytes.Buffer
	if err := Ask(socket, true, patience, &raw); err != nil {
		t.Fatal(err)
	}
	d, err := ReadDump(&raw)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// settle waits until the server has read what was sent before: n messages.
func settle(t testing.TB, s *Server, n uint64) {
	t.Helper()
	for end := time.Now().Add(patience); s.Counts().Messages < n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d messages of %d came: %+v", s.Counts().Messages, n, s.Counts())
		}
	}
}

func alloc(device int32, id, size uint64, m Memory, pid int32) Request {
	return Request{Kind: Alloc, Device: device, ID: id, Size: size, Memory: m, PID: pid, Time: 1700000000000000000}
}

func free(device int32, id uint64, pid int32) Request {
	return Request{Kind: Free, Device: device, ID: id, PID: pid}
}

func unhex(t testing.TB, text string, zeros int) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return append(b, make([]byte, zeros)...)
}
