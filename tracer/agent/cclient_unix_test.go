//go:build unix

package agent

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// buildArena compiles the example of the client in C.
func buildArena(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	out := filepath.Join(t.TempDir(), "arena")
	if text, err := exec.Command("cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", out,
		filepath.Join("c", "example", "arena.c")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}

// A tracer that takes connections and then does what a test says.
func runArena(t *testing.T, program string, serve func(net.Conn)) {
	t.Helper()
	dir, err := os.MkdirTemp("", "gpumem-c-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serve(c)
		}
	}()
	cmd := exec.Command(program, "sound", "400")
	cmd.Env = append(os.Environ(), EnvSocket+"="+socket, EnvInterval+"=1")
	start := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil || len(out) != 0 {
		t.Errorf("%v: %s", err, out)
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("the program took %v", took)
	}
}

func TestAProgramInCOutlivesItsTracer(t *testing.T) {
	t.Parallel()
	runArena(t, buildArena(t), func(c net.Conn) { c.Close() })
}

func TestATracerThatDoesNotReadStopsNoProgramInC(t *testing.T) {
	t.Parallel()
	var kept []net.Conn
	runArena(t, buildArena(t), func(c net.Conn) {
		c.(*net.UnixConn).SetReadBuffer(1)
		kept = append(kept, c)
	})
}

func TestAProgramInCRunsWithoutATracer(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(buildArena(t), "sound", "50")
	cmd.Env = []string{EnvSocket + "=/nowhere/at/all"}
	if out, err := cmd.CombinedOutput(); err != nil || len(out) != 0 {
		t.Errorf("%v: %s", err, out)
	}
}
