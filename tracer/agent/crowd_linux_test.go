package agent

import (
	"net"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestAProgramThatFindsAQueueWaitsItsTurn(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 0); err != nil { // one may wait
		t.Fatal(err)
	}
	first, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if conn, err := dialTracer(path, 10*time.Millisecond); err == nil {
		conn.Close()
		t.Fatal("two wait where one may")
	}
	go func() {
		time.Sleep(50 * time.Millisecond)
		if conn, _, err := unix.Accept(fd); err == nil {
			unix.Close(conn)
		}
	}()
	conn, err := dialTracer(path, 10*time.Second)
	if err != nil {
		t.Fatalf("when the queue had moved on: %v", err)
	}
	conn.Close()
}
