//go:build unix

package agent

import (
	"runtime"
	"syscall"
	"testing"
	"time"
)

func TestTenThousandIdleConnectionsHoldNoAgentOut(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	many := 10_000
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err == nil && uint64(limit.Cur) < 11_000 {
		t.Skipf("a process may have %d open files here, and this needs 11,000", limit.Cur)
	}
	s, e := listen(t)
	s.mu.Lock()
	s.ofPID = 2 * many // they are all of this process: the worst case
	s.mu.Unlock()
	before := runtime.NumGoroutine()
	silent(t, s, many)
	begun := time.Now()
	dial(t, s, Hello{Agent: "late"}, nil, time.Hour, false)
	e.heard(t, "the hello", func() bool { return len(e.hellos) == 1 })
	if took := time.Since(begun); took > helloBound/2 {
		t.Errorf("the agent was held out for %s", took)
	}
	if n := runtime.NumGoroutine() - before; n > 4*maxConns {
		t.Errorf("%d goroutines serve %d connections that say nothing", n, many)
	}
}
