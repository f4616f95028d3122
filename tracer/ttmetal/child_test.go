package ttmetal

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"testing"
)

// childSocket makes the test binary a server, childState its state file.
// childAsk makes it a monitor.
const (
	childSocket = "GPUMEM_TEST_SERVE"
	childState  = "GPUMEM_TEST_STATE"
	childAsk    = "GPUMEM_TEST_ASK"
)

func TestMain(m *testing.M) {
	if socket := os.Getenv(childSocket); socket != "" {
		if err := serveAsChild(socket, os.Getenv(childState)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if socket := os.Getenv(childAsk); socket != "" {
		if err := askAsChild(socket); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// serveAsChild serves until it is interrupted or its parent is gone.
func serveAsChild(socket, state string) error {
	s, err := Listen(Options{Socket: socket, StatePath: state, TrustPIDs: true, Out: io.Discard, SweepEvery: -1,
		StatisticsEvery: -1})
	if err != nil {
		return err
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	fmt.Println("ready")
	go func() {
		bufio.NewReader(os.Stdin).ReadByte() //nolint:errcheck // it ends when the parent does
		os.Exit(0)
	}()
	<-interrupted
	return s.Close()
}

// childServer starts a server in a process of its own.
func childServer(t testing.TB, dir string, state bool) (socket string, cmd *exec.Cmd) {
	t.Helper()
	socket = filepath.Join(dir, "s")
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childSocket+"="+socket)
	if state {
		cmd.Env = append(cmd.Env, childState+"="+filepath.Join(dir, "state"))
	}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Process.Kill()
		cmd.Wait() //nolint:errcheck // it was killed
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("the server said %q: %v", line, err)
	}
	return socket, cmd
}
