package agent

import (
	"errors"
	"net"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// silent opens connections that say nothing.
func silent(t *testing.T, s *Server, n int) []net.Conn {
	t.Helper()
	var conns []net.Conn
	for range n {
		conn, err := net.Dial("unix", s.Path())
		for errors.Is(err, syscall.EAGAIN) { // more wait to be accepted than may
			time.Sleep(time.Millisecond)
			conn, err = net.Dial("unix", s.Path())
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		conns = append(conns, conn)
	}
	return conns
}

func TestSilentConnectionsKeepNoAgentOut(t *testing.T) {
	t.Parallel()
	s, e := listen(t)
	s.mu.Lock()
	s.ofPID = 4 * maxConns // they are all of this process
	s.mu.Unlock()
	early := dial(t, s, Hello{Agent: "early"}, nil, time.Hour, false)
	e.heard(t, "the first hello", func() bool { return len(e.hellos) == 1 })
	silent(t, s, maxConns)
	dial(t, s, Hello{Agent: "late"}, nil, time.Hour, false)
	e.heard(t, "the second hello", func() bool { return len(e.hellos) == 2 })
	silent(t, s, maxConns)
	early.Mark("event", "still here", "")
	e.heard(t, "the first agent's mark", func() bool { return len(e.marks) == 1 })
	for _, err := range e.all().refused {
		if !strings.Contains(err.Error(), "no hello, and other programs were waiting") {
			t.Errorf("refused: %v", err)
		}
	}
}

func TestOneProcessHasOnlySoManyConnections(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells here whose connection it is")
	}
	t.Parallel()
	s, e := listen(t)
	conns := silent(t, s, maxConnsOfPID+1)
	e.heard(t, "a refusal", func() bool { return len(e.refused) == 1 })
	if err := e.all().refused[0]; !strings.Contains(err.Error(), "more than 16 connections") {
		t.Errorf("refused: %v", err)
	}
	conns[0].Close()
	for room := false; !room; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		room = len(s.conns) < maxConnsOfPID
		s.mu.Unlock()
	}
	dial(t, s, Hello{}, nil, time.Hour, false)
	e.heard(t, "a hello", func() bool { return len(e.hellos) == 1 })
}

func TestAStoppedTracerCostsAProgramSecondsAtItsEnd(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	s, e := listen(t)
	c := dial(t, s, Hello{}, nil, time.Hour, true)
	e.heard(t, "hello", func() bool { return len(e.hellos) == 1 })
	begun := time.Now()
	c.Close() // nobody answers
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("the program was held for %v", took)
	}
}

func TestATracerThatIsSlowButHeardIsWaitedFor(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	s, e := listen(t)
	c := dial(t, s, Hello{}, nil, time.Hour, true)
	e.heard(t, "hello", func() bool { return len(e.hellos) == 1 })
	closed := make(chan struct{})
	go func() { c.Close(); close(closed) }()
	e.heard(t, "the end", func() bool { return len(e.marks) == 1 })
	conn := e.all().conns[0]
	for begun := time.Now(); time.Since(begun) < firstBound+time.Second; time.Sleep(100 * time.Millisecond) {
		if err := conn.Heard(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Do(ActionCollect); err != nil {
		t.Fatal(err)
	}
	e.heard(t, "the answer", func() bool { return len(e.dones) == 1 })
	if _, err := conn.Do(ActionContinue); err != nil {
		t.Fatal(err)
	}
	<-closed
}
