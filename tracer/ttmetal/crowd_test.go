package ttmetal

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// closed reports that the server closed a connection.
func closed(t *testing.T, c net.Conn) bool {
	t.Helper()
	c.SetReadDeadline(time.Now().Add(patience)) //nolint:errcheck // the read says so
	_, err := c.Read(make([]byte, 1))
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

func TestConnectionsThatAreSilentOrHalfAMessageKeepNoProgramOut(t *testing.T) {
	t.Parallel()
	const most = 8
	s := serve(t, Options{MostConnections: most})
	var idle []net.Conn
	for i := range 10 * most {
		c := connect(t, s)
		if i%2 == 0 {
			send(t, c, alloc(0, 1, 64, L1, 1).Append(nil, V2)[:V2/2])
		}
		idle = append(idle, c)
	}
	var programs []net.Conn
	for range most {
		c := connect(t, s)
		send(t, c, Request{Kind: Query}.Append(nil, V4))
		received(t, c, V4)
		programs = append(programs, c)
	}
	for i, c := range idle {
		if !closed(t, c) {
			t.Fatalf("idle connection %d is still open beside %d programs", i, most)
		}
	}
	for _, c := range programs {
		send(t, c, Request{Kind: Query}.Append(nil, V4))
		received(t, c, V4)
	}
}

func TestAProgramBeyondTheBoundIsTurnedAwayAndThatIsSaidOnce(t *testing.T) {
	t.Parallel()
	const most = 4
	var mu sync.Mutex
	var said []string
	s := serve(t, Options{MostConnections: most, Warn: func(text string) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, text)
	}})
	ask := func(c net.Conn) {
		t.Helper()
		send(t, c, Request{Kind: Query}.Append(nil, V4))
		received(t, c, V4)
	}
	var programs []net.Conn
	for range most {
		c := connect(t, s)
		ask(c)
		programs = append(programs, c)
	}
	for range 3 {
		if c := connect(t, s); !closed(t, c) {
			t.Fatal("a fifth program is served")
		}
	}
	mu.Lock()
	if len(said) != 1 || !strings.HasPrefix(said[0], "4 programs are connected") {
		t.Errorf("said %q", said)
	}
	mu.Unlock()
	programs[0].Close()
	eventually(t, func() bool { return s.Counts().Connections < most },
		func() string { return "its place is not free" })
	ask(connect(t, s))
	for _, c := range programs[1:] {
		ask(c)
	}
}
