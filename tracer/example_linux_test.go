package tracer

import (
	"bufio"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpumem/gpumem/tracer/record"
)

// buildExample compiles the agent in C that the protocol's page points to.
func buildExample(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Fatalf("no C compiler, and the protocol's example is one: %v", err)
	}
	program := filepath.Join(t.TempDir(), "agent")
	source := filepath.Join("agent", "example", "agent.c")
	if out, err := exec.Command(cc, "-Wall", "-Wextra", "-Werror", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

func TestTheExampleInCTellsSamplesAndAnswers(t *testing.T) {
	t.Parallel()
	res, run := trace(t, Config{Command: []string{buildExample(t)}, Out: t.TempDir() + "/run", Purge: true})
	if res.ExitCode != 0 || len(res.Warnings) != 0 || run.Meta.Device != "example" {
		t.Fatalf("%+v", res)
	}
	live, idle := known(run.Samples, record.ColLive), known(run.Samples, record.ColIdle)
	if n := len(live); n < 200 || live[n-1] != 200*4096 || len(known(run.Samples, record.ColStep)) < 200 {
		t.Errorf("%d samples, the last of %v", n, live[max(n-1, 0):])
	}
	if n := len(idle); n == 0 || idle[0] != 1<<20 || idle[n-1] != 0 {
		t.Errorf("idle bytes from %v on: the purge is not seen", idle[:min(n, 1)])
	}
	purged := false
	for _, e := range run.Events {
		if e.Kind == record.KindReceipt && e.Name == "purge" {
			purged = e.Receipt.ClaimedBytes != nil && *e.Receipt.ClaimedBytes == 1<<20
		}
	}
	if !purged {
		t.Errorf("no receipt of the purge in %+v", run.Events)
	}
}

func TestTheExampleInCHearsEachOfTwoRequestsThatComeTogether(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "socket")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	cmd := exec.Command(buildExample(t))
	cmd.Env = []string{"GPUMEM_AGENT=" + socket, "GPUMEM_HOLD=1"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second)) // one that lost a request says nothing more
	together := `{"heard":{}}` + "\n" + `{"do":{"id":7,"action":"purge"}}` + "\n" + `{"do":{"id":8,"act`
	if _, err := conn.Write([]byte(together)); err != nil {
		t.Fatal(err)
	}
	answered := []string{}
	for lines := bufio.NewScanner(conn); lines.Scan() && len(answered) < 2; {
		if !strings.HasPrefix(lines.Text(), `{"done"`) {
			continue
		}
		if answered = append(answered, lines.Text()); len(answered) == 1 {
			_, err = conn.Write([]byte(`ion":"trim"}}` + "\n"))
		}
	}
	_ = conn.Close() // the program runs on in silence, and ends
	want := []string{`{"done":{"id":7,"claimed_bytes":1048576}}`, `{"done":{"id":8,"claimed_bytes":0}}`}
	if waited := cmd.Wait(); !slices.Equal(answered, want) || err != nil || waited != nil {
		t.Errorf("%q, %v, %v", answered, err, waited)
	}
}

func TestTheExampleInCRunsAloneAsWell(t *testing.T) {
	t.Parallel()
	program := buildExample(t)
	for _, socket := range []string{"", "/nowhere/at/all"} {
		cmd := exec.Command(program)
		cmd.Env = []string{"GPUMEM_AGENT=" + socket, "GPUMEM_HOLD=1"}
		if socket == "" {
			cmd.Env = nil
		}
		cmd.WaitDelay = time.Minute
		if out, err := cmd.CombinedOutput(); err != nil || len(out) != 0 {
			t.Errorf("with %q: %v, %q", socket, err, out)
		}
	}
}
