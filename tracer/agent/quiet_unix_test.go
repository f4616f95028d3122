//go:build unix

package agent

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gpumem/gpumem/tracer/record"
)

// speaker is a program that writes its lines itself.
func speaker(t *testing.T, s *Server) net.Conn {
	conn, err := net.Dial("unix", s.Path())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func say(t *testing.T, conn net.Conn, line string, args ...any) {
	t.Helper()
	if _, err := fmt.Fprintf(conn, line+"\n", args...); err != nil {
		t.Fatal(err)
	}
}

// lateOne is a server with one program that is read late by now.
func lateOne(t *testing.T) (*Server, *ear, net.Conn) {
	s, e := listen(t)
	conn := speaker(t, s)
	say(t, conn, `{"hello":{"v":1,"pid":%d,"knocks":true}}`, os.Getpid())
	e.heard(t, "hello", func() bool { return len(e.hellos) == 1 })
	c := e.all().conns[0]
	for n := 1; ; n++ {
		say(t, conn, `{"sample":{"step":%d}}`, n)
		e.heard(t, "a sample", func() bool { return len(e.samples) == n })
		c.write.Lock()
		quiet := c.quiet != nil
		c.write.Unlock()
		if quiet {
			return s, e, conn
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestAProgramThatIsReadLateLosesNothing(t *testing.T) {
	t.Parallel()
	_, e, conn := lateOne(t)
	before := len(e.all().samples)
	for n := range 500 {
		line := fmt.Sprintf(`{"sample":{"step":%d,"live_count":7}}`+"\n", n)
		half := n % len(line) // lines come in pieces
		io.WriteString(conn, line[:half])
		io.WriteString(conn, line[half:])
	}
	e.heard(t, "all samples", func() bool { return len(e.samples) == before+500 })
	for n, cells := range e.all().samples[before:] {
		if step, ok := value(cells, record.ColStep); !ok || step != int64(n) {
			t.Fatalf("sample %d is of step %d", n, step)
		}
	}
	io.WriteString(conn, `{"mark":{"kind":"event","name":"last"}}`+"\n"+`{"mark":`)
	conn.Close()
	e.heard(t, "the end", func() bool { return len(e.gone) == 1 })
	if all := e.all(); all.gone[0] != nil || len(all.marks) != 1 || len(all.refused) != 0 {
		t.Errorf("gone %v, marks %v, refused %v", all.gone, all.marks, all.refused)
	}
}

func TestAProgramThatIsReadLateIsStillAsked(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	s, e, conn := lateOne(t)
	id, err := e.all().conns[0].Do(ActionPurge)
	if err != nil {
		t.Fatal(err)
	}
	asked := make([]byte, 200)
	n, err := conn.Read(asked)
	if want := fmt.Sprintf(`{"do":{"id":%d,"action":"purge"}}`, id); err != nil ||
		strings.TrimSpace(string(asked[:n])) != want {
		t.Fatalf("read %q, %v; want %s", asked[:n], err, want)
	}
	// One that does not read is not waited for longer than its bound.
	var do error
	for range 100_000 {
		if _, do = e.all().conns[0].Do(strings.Repeat("x", 1000)); do != nil {
			break
		}
	}
	if do == nil {
		t.Error("a program that does not read took 100 MB of requests")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := e.all().conns[0].Do(ActionPurge); err == nil {
		t.Error("a request to a closed connection was sent")
	}
}

func TestAKnockHasALineReadAtOnce(t *testing.T) {
	t.Parallel()
	s, e := listen(t)
	// A connection that by itself is looked at again in an hour only.
	box := &mailbox{empty: make(chan struct{})}
	c := &Conn{quiet: box, knocked: make(chan struct{}, 1), closed: make(chan struct{})}
	s.mu.Lock()
	s.conns[c] = struct{}{}
	s.mu.Unlock()
	read := make(chan string)
	go func() {
		p := make([]byte, 100)
		r := &lateReader{c: c, lag: new(atomic.Int64)}
		r.lag.Store(int64(time.Hour))
		for {
			n, err := r.Read(p)
			if err != nil {
				close(read)
				return
			}
			read <- string(p[:n])
		}
	}()
	for _, word := range []string{"one", "two", "three"} {
		<-box.empty // it has looked, and waits
		box.put(word)
		select {
		case got := <-read:
			t.Fatalf("%q was read without a knock", got)
		case <-time.After(20 * time.Millisecond):
		}
		speaker(t, s).Close()
		if got := <-read; got != word {
			t.Errorf("read %q, want %q", got, word)
		}
	}
	<-box.empty
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	close(c.closed)
	if got, ok := <-read; ok {
		t.Errorf("read %q after the end", got)
	}
	if refused := e.all().refused; len(refused) != 0 {
		t.Errorf("a knock was refused: %v", refused)
	}
}

// mailbox is a quietSocket that holds one word at most.
type mailbox struct {
	empty chan struct{} // takes part in each read that found nothing
	mu    sync.Mutex
	word  string
}

func (m *mailbox) put(word string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.word = word
}

func (m *mailbox) Read(p []byte) (int, error) {
	m.mu.Lock()
	n := copy(p, m.word)
	m.word = ""
	m.mu.Unlock()
	if n == 0 {
		m.empty <- struct{}{}
		return 0, errNothing
	}
	return n, nil
}

func (m *mailbox) Write([]byte, time.Time) error { return nil }
func (m *mailbox) Close() error                  { return nil }
