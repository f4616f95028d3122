package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// sshServer starts a server for this user on a port of its own and returns the
// command that reaches it.
func sshServer(t *testing.T) string {
	t.Helper()
	sshd := "/usr/sbin/sshd"
	if _, err := os.Stat(sshd); err != nil {
		t.Skip("openssh-server is not installed: the screen is not carried over SSH here")
	}
	if os.Getuid() != 0 {
		t.Skip("sshd lets others in only as root")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	dir := t.TempDir()
	for _, key := range []string{"host", "user"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
			filepath.Join(dir, key)).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v\n%s", err, out)
		}
	}
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
		t.Fatal(err)
	}
	server := exec.Command(sshd, "-D", "-e", "-f", os.DevNull, "-p", fmt.Sprint(port), "-h", filepath.Join(dir, "host"),
		"-o", "ListenAddress=127.0.0.1", "-o", "AuthorizedKeysFile="+filepath.Join(dir, "user.pub"),
		"-o", "StrictModes=no", "-o", "UsePAM=no", "-o", "PermitRootLogin=yes", "-o", "PidFile=none")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Process.Kill(); server.Wait() })
	return fmt.Sprintf("ssh -t -q -o ConnectionAttempts=20 -o StrictHostKeyChecking=no -o "+
		"UserKnownHostsFile=/dev/null -p %d -i %s 127.0.0.1", port, filepath.Join(dir, "user"))
}

func TestARunIsWatchedOverSSHAndOutlivesTheConnection(t *testing.T) {
	t.Parallel()
	host, here := newTerminal(t, 100, 30), newTerminal(t, 100, 30)
	ssh := sshServer(t)
	host.typed(binary + " run --gpu none --out r -- sh -c 'while sleep .1; do :; done'")
	host.sees("recording", `recording into`)
	here.typed(ssh + " LANG=C.UTF-8 " + binary + " watch --follow " + filepath.Join(host.dir, "r"))
	here.sees("the run", `(?s)● recording.*━▸ 1 Accounts`)
	here.keys("?")
	here.sees("keys arrive", `▸ Keys`)
	here.keys("?", "q")
	here.shellIsSane("after watching")
	host.keys("C-c")
	host.sees("the recording went on", `[Rr]eport: r`)
}
