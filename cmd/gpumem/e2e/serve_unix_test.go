//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpumem/gpumem/cmd/gpumem/option"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/ttmetal"
)

// shortFolder is a folder whose path fits a socket's address.
func shortFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "gs")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// served starts `gpumem serve` and waits until it answers. The folder is short
// enough for a socket's address.
func served(t *testing.T, args ...string) (dir, socket string, cmd *exec.Cmd) {
	t.Helper()
	dir = shortFolder(t)
	socket = filepath.Join(dir, "s")
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd = exec.Command(binary, append([]string{"serve", "--socket", socket}, args...)...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait() //nolint:errcheck // it was killed, or has ended
	})
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if c, err := net.Dial("unix", socket); err == nil {
			c.Close()
			return dir, socket, cmd
		}
		if time.Now().After(end) {
			text, _ := os.ReadFile(out.Name())
			t.Fatalf("gpumem serve does not answer:\n%s", text)
		}
	}
}

// reports is what a program reports on a connection, all of it read when it
// returns.
func reports(t *testing.T, socket string, requests ...ttmetal.Request) {
	t.Helper()
	c, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var b []byte
	for _, q := range append(requests, ttmetal.Request{Kind: ttmetal.Query}) {
		b = q.Append(b, ttmetal.V4)
	}
	c.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := c.Write(b); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, ttmetal.V4)); err != nil {
		t.Fatal(err)
	}
}

func buffer(device int32, id, size uint64, m ttmetal.Memory) ttmetal.Request {
	return ttmetal.Request{Kind: ttmetal.Alloc, Device: device, ID: id, Size: size, Memory: m,
		PID: int32(os.Getpid()), Time: 1}
}

func TestServePrintsEventsAndItsLastStateOnSIGTERM(t *testing.T) {
	t.Parallel()
	dir, socket, cmd := served(t, "--log", filepath.Join(t.TempDir(), "log"), "--state",
		filepath.Join(t.TempDir(), "state"))
	reports(t, socket, buffer(1, 0x30000, 4096, ttmetal.L1))
	got := gpumem(t, dir, "dump", "--socket", socket)
	if want := fmt.Sprintf("    - Buffer 0x30000: 4.0 KB (PID %d, ref_count=1)\n",
		os.Getpid()); got.code != 0 ||
		!strings.Contains(got.stdout, want) || strings.Contains(got.stdout, "📋") {
		t.Errorf("gpumem dump: exit code %d, no %q in\n%s%s", got.code, want, got.stdout, got.stderr)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("gpumem serve ends with %v", err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		fmt.Sprintf("✓ [PID %d] Allocated 4096 bytes of L1 on device 1 (buffer_id=0x30000)\n", os.Getpid()),
		"DUMP_REMAINING complete.\n", "    L1: 4096 bytes (4.0 KB)\n", "  Active allocations: 1\n",
		"Listening on: " + socket,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if _, err := os.Stat(socket); err == nil {
		t.Error("the socket is left behind")
	}
}

func TestDumpSaysWhatToDoWithoutAServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	got := gpumem(t, dir, "dump", "--socket", "none")
	if got.code != exitFailed || !strings.Contains(got.stderr, "gpumem serve --socket none") {
		t.Errorf("exit code %d, %q", got.code, got.stderr)
	}
	for want, args := range map[string][]string{
		"ID:ARCH:DRAM:L1":    {"serve", "--device", "0"},
		"no such arch":       {"serve", "--device", "0:x:1:1"},
		"two or more runs":   {"dump", "--fail-on", "any"},
		"takes no argument":  {"serve", "x"},
		"no such file":       {"dump", "a.json"},
		"no such file or di": {"dump", "a.json", "b.json"},
	} {
		if got := gpumem(t, dir, args...); got.code == 0 || !strings.Contains(got.stderr, want) {
			t.Errorf("gpumem %v: exit code %d, %q, want %q", args, got.code, got.stderr, want)
		}
	}
}

// saved writes a dump of n buffers as a run would leave it.
func saved(t *testing.T, dir, name string, list []ttmetal.Buffer, left ...ttmetal.Swept) string {
	t.Helper()
	if list == nil {
		list = []ttmetal.Buffer{}
	}
	text, err := json.Marshal(ttmetal.Dump{Schema: 1, Active: int64(len(list)), Buffers: list,
		LeftByDead: left})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func many(n int, size uint64) []ttmetal.Buffer {
	var list []ttmetal.Buffer
	for i := range n {
		list = append(list, ttmetal.Buffer{Space: "buffer", Memory: "DRAM", ID: ttmetal.HexID(i), Size: size,
			PID: 7, Refs: 1})
	}
	return list
}

func TestGrowthFromRunToRunDecides(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// 381 buffers that a fixture's dump found in scope: DRAM 163 / 355.37 MB, L1 218 / 48.47 MB.
	scope := append(many(163, 355_37<<20/100/163), many(218, 48_47<<20/100/218)...)
	// A server's dump names all that ended processes left since it started.
	dead := func(counts ...int) (list []ttmetal.Swept) {
		for i, n := range counts {
			list = append(list, ttmetal.Swept{Number: uint64(i + 1), PID: 9, Count: [3]int{n},
				Bytes: [3]uint64{uint64(n) * 4096}})
		}
		return list
	}
	for name, c := range map[string]struct {
		runs []string
		want verdict.Class
	}{
		"3, 3, 3": {[]string{saved(t, dir, "a1", many(3, 12288)),
			saved(t, dir, "a2", many(3, 12288)), saved(t, dir, "a3", many(3, 12288))}, verdict.None},
		"3, 6, 9": {[]string{saved(t, dir, "b1", many(3, 12288)),
			saved(t, dir, "b2", many(6, 12288)), saved(t, dir, "b3", many(9, 12288))}, verdict.AppLeak},
		"3, 6": {[]string{saved(t, dir, "c1", many(3, 12288)),
			saved(t, dir, "c2", many(6, 12288))}, verdict.AppLeak},
		"0, 0, 0": {[]string{saved(t, dir, "d1", nil), saved(t, dir, "d2", nil),
			saved(t, dir, "d3", nil)}, verdict.None},
		"381 buffers in scope, each time": {[]string{saved(t, dir, "e1", scope), saved(t, dir, "e2", scope),
			saved(t, dir, "e3", scope)}, verdict.None},
		"a cache filled by the first run": {[]string{saved(t, dir, "f1", many(59, 1<<18)),
			saved(t, dir, "f2", many(59, 1<<18)), saved(t, dir, "f3", many(59, 1<<18))}, verdict.None},
		"left by each process that ended": {[]string{saved(t, dir, "g1", nil, dead(3)...),
			saved(t, dir, "g2", nil, dead(3, 3)...),
			saved(t, dir, "g3", nil, dead(3, 3, 3)...)}, verdict.None},
		"left by another before the first": {[]string{"--since", saved(t, dir, "i0", nil, dead(50)...),
			saved(t, dir, "i1", nil, dead(50, 3)...),
			saved(t, dir, "i2", nil, dead(50, 3, 5)...)}, verdict.AppLeak},
		"left by each process, and more": {[]string{saved(t, dir, "h1", nil, dead(3)...),
			saved(t, dir, "h2", nil, dead(3, 6)...),
			saved(t, dir, "h3", nil, dead(3, 6, 9)...)}, verdict.AppLeak},
	} {
		got := gpumem(t, dir, append([]string{"dump", "--json", "--fail-on", "any"}, c.runs...)...)
		var answer struct{ Verdict *verdict.Verdict }
		if err := json.Unmarshal([]byte(got.stdout), &answer); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, got.stderr)
		}
		code := 0
		if c.want != verdict.None {
			code = option.FailOn{c.want: true}.Code(c.want)
		}
		if answer.Verdict.Verdict != c.want || got.code != code {
			t.Errorf("%s: %s, exit code %d, want %s, %d: %s", name, answer.Verdict.Verdict, got.code,
				c.want, code, answer.Verdict.Summary)
		}
	}
}

func TestTheScriptComparesRunsAndPassesTheProgramsCodeOn(t *testing.T) {
	t.Parallel()
	script, err := filepath.Abs(filepath.Join("..", "..", "..", "scripts", "run_with_memory_check.sh"))
	if err != nil {
		t.Fatal(err)
	}
	dir, socket, _ := served(t, "-q")
	run := func(args ...string) (string, int) {
		cmd := exec.Command("bash", append([]string{script, "--wait", "0"}, args...)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GPUMEM="+binary)
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	if out, code := run("--socket", socket, "--no-start", "--", "sh", "-c", "exit 9"); code != 9 ||
		!strings.Contains(out, "perfect cleanup") {
		t.Errorf("a program that fails: exit code %d\n%s", code, out)
	}
	if out, code := run("--socket", socket, "--runs", "3", "--fail-on", "any", "true"); code != 0 ||
		!strings.Contains(out, "Run 3: 0 active allocations") {
		t.Errorf("three clean runs: exit code %d\n%s", code, out)
	}
	if out, code := run("--socket", filepath.Join(dir, "none"), "--no-start", "true"); code != 1 ||
		!strings.Contains(out, "no allocation server answers") {
		t.Errorf("without a server: exit code %d\n%s", code, out)
	}
	if out, code := run("--socket", filepath.Join(dir, "own"), "sh",
		"-c", "test $TT_ALLOC_TRACKING_ENABLED = 1"); code != 0 ||
		!strings.Contains(out, "starting an allocation server") {
		t.Errorf("with a server of its own: exit code %d\n%s", code, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "own")); err == nil {
		t.Error("the script's own server is left behind")
	}
}

func TestTheScriptCountsWhatARealClientDidNotFree(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	script, err := filepath.Abs(filepath.Join("..", "..", "..", "scripts", "run_with_memory_check.sh"))
	if err != nil {
		t.Fatal(err)
	}
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler (cc): the client cannot be built")
	}
	dir, socket, _ := served(t, "-q")
	client := filepath.Join(dir, "client")
	if out, err := exec.Command(cc, "-o", client,
		filepath.Join("..", "..", "..", "tracer", "ttmetal", "testdata", "client.c")).CombinedOutput(); err != nil {
		t.Fatalf("build the client: %v\n%s", err, out)
	}
	// before the first run: it does not count
	if out, err := exec.Command(client, socket).CombinedOutput(); err != nil {
		t.Fatalf("the client: %v\n%s", err, out)
	}
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"three runs": {[]string{"--runs", "3", "--fail-on", "any"}, []string{
			"Run 1: 1 active allocations, 512 B", "Run 3: 1 active allocations, 512 B",
			"what remains does not grow from run to run"}},
		"one run": {nil, []string{"perfect cleanup", "Left by PID",
			"1 ended process had not freed everything"}},
	} {
		cmd := exec.Command("bash",
			append(append([]string{script, "--wait", "0", "--socket", socket, "--no-start"}, c.args...),
				"--", client, socket)...)
		cmd.Env = append(os.Environ(), "GPUMEM="+binary)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, want := range c.want {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s: no %q in\n%s", name, want, out)
			}
		}
		if n := strings.Count(string(out), "Left by PID"); len(c.args) == 0 && n != 1 {
			t.Errorf("%s: %d processes left something, want its own alone\n%s", name, n, out)
		}
	}
}

func TestShellcheckFindsNothingInTheScript(t *testing.T) {
	t.Parallel()
	checker, err := exec.LookPath("shellcheck")
	if err != nil {
		t.Skip("shellcheck is not installed (Debian package shellcheck)")
	}
	if out, err := exec.Command(checker,
		filepath.Join("..", "..", "..", "scripts", "run_with_memory_check.sh")).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
