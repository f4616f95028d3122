package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gpumem/gpumem/cmd/gpumem/diagnosis"
	"github.com/gpumem/gpumem/internal/loader/standin"
)

func TestTheFiveSectionsAreRecognised(t *testing.T) {
	t.Parallel()
	got := gpumem(t, t.TempDir(), "diagnose", "--format", "sections", "--runtime", "tl")
	for i, title := range []string{"Top 20 processes by memory", "Processes of the runtime (tl)",
		"Metal, GPU and MTL processes", "VSCode GPU helper processes", "GPU memory"} {
		if !strings.Contains(got.stdout, fmt.Sprintf("\n%d. %s", i+1, title)) {
			t.Errorf("section %d, %s, is missing:\n%s", i+1, title, got.stdout)
		}
	}
	checkWidth(t, got.stdout)
}

// TestAProcessOfTheRuntimeIsFoundByItsExecutableWithItsResidentSize has one that is
// called so, and one whose command line only has the letters.
func TestAProcessOfTheRuntimeIsFoundByItsExecutableWithItsResidentSize(t *testing.T) {
	t.Parallel()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("tl-%d", os.Getpid())
	program := filepath.Join(t.TempDir(), name)
	if err := exec.Command("cp", sleep, program).Run(); err != nil {
		t.Fatal(err)
	}
	own := start(t, program, "60")
	start(t, "sh", "-c", "sleep 60; : "+name)
	found := regexp.MustCompile(`(?m)^ +` + pidOf(own) + ` .* [\d.]+ [KM]iB +[\d.]+ [KM]iB .*` + name + ` 60$`)
	var section string
	until(t, "the process under its new name", func() bool {
		got := gpumem(t, t.TempDir(), "diagnose", "--format", "sections", "--runtime", name)
		_, section, _ = strings.Cut(got.stdout, "\n2. ")
		section, _, _ = strings.Cut(section, "\n3. ")
		return found.MatchString(section)
	})
	if lines := strings.Count(strings.TrimSpace(section), "\n"); lines != 2 ||
		!strings.Contains(section, " RSS ") {
		t.Errorf("other processes, or no resident size:\n%s", section)
	}
}

// patiently runs a command that watches for a time, and again for longer where
// it ends with another code than the one wanted: a machine that is busy with
// other things gives few samples, and the answer then asks to watch longer.
func patiently(code int, run func(length string) outcome) (got outcome) {
	for _, length := range []string{"6s", "20s", "60s"} {
		if got = run(length); got.code == code {
			break
		}
	}
	return got
}

func TestWatchingAccusesTheProcessThatGrowsAndNoOther(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	leak := startPython(t, "leaky.py", grower)
	calm := startPython(t, "calm.py",
		"import time\nkeep = bytearray(50_000_000)\nprint('ready', flush=True)\ntime.sleep(600)\n")
	// An array of 800 MiB that is made whole, and written a little at a time.
	fills := startPython(t, "fills.py", "import mmap, time\nanonymous = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS\n"+
		"keep = mmap.mmap(-1, 800 << 20, flags=anonymous)\nprint('ready', flush=True)\n"+
		"while keep.tell() < 700 << 20:\n    keep.write(bytes(1 << 15))\n    time.sleep(.01)\n")
	got := patiently(6, func(length string) outcome {
		return gpumem(t, t.TempDir(), "diagnose", pidOf(leak), pidOf(calm), pidOf(fills), "--for", length, "--json",
			"--fail-on", "host-growth")
	})
	var d diagnosis.Document
	if err := json.Unmarshal([]byte(got.stdout), &d); err != nil {
		t.Fatalf("%v\n%s%s", err, got.stdout, got.stderr)
	}
	if got.code != 6 || d.Watched == nil || d.Watched.Processes != 3 || d.Watched.FalseDiscovery != .05 {
		t.Errorf("code %d, watched %+v", got.code, d.Watched)
	}
	for _, p := range d.Processes {
		want := map[int]string{leak.Process.Pid: "host-growth", calm.Process.Pid: "none",
			fills.Process.Pid: "none"}[p.PID]
		if p.Verdict == nil || string(p.Verdict.Verdict) != want {
			t.Errorf("process %d: %+v, want %s", p.PID, p.Verdict, want)
		}
		if len(p.Made) == 0 {
			t.Errorf("process %d: what it is made of is missing", p.PID)
		}
	}
}

// growing is a process whose device memory grows as long as the test runs, by
// what the driver says.
func growing(t *testing.T) (target *exec.Cmd, env []string) {
	t.Helper()
	target = start(t, "sleep", "600")
	library, env := stub(t)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for bytes := 100 << 20; ; bytes += 1 << 20 {
			standin.Write(t, library, stubDevices, fmt.Sprintf("process 0 c %s %d", pidOf(target), bytes))
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	t.Cleanup(func() {
		close(stop)
		<-stopped
	})
	return target, env
}

func TestGrowthOfGPUBytesIsSeenAlthoughNobodyKnowsWhoseItIs(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	target, env := growing(t)
	got := patiently(7, func(length string) outcome {
		return gpumemEnv(t, t.TempDir(), env, "diagnose", pidOf(target), "--for", length, "--fail-on", "any")
	})
	if got.code != 7 || !strings.Contains(got.stdout, "1 grows") ||
		!strings.Contains(got.stdout, "/min GPU") || !strings.Contains(got.stdout, "grows, owner unknown") {
		t.Errorf("code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	// What is a fact is said as one, with its interval, and what comes next.
	flat := strings.Join(strings.Fields(got.stdout), " ")
	fact := regexp.MustCompile(
		`device memory grows by [\d.]+ MiB a second \(95 %: [\d.]+ MiB to [\d.]+ MiB\); whether the program, its pool or the driver holds it cannot be seen from outside`)
	if !fact.MatchString(flat) || !strings.Contains(flat, "gpumem run -- ") ||
		!strings.Contains(flat, "next: attach to it, which asks a Python program itself, and as root the driver "+
			"too: gpumem attach "+pidOf(target)+"; or") {
		t.Errorf("no fact, or no next step:\n%s", got.stdout)
	}
	checkWidth(t, got.stdout)
}

func TestAttachTurnsGrowthWithoutAnOwnerIntoACodeAndANextStep(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	target, env := growing(t)
	dir := t.TempDir()
	got := patiently(7, func(length string) outcome {
		return gpumemEnv(t, dir, env, "attach", pidOf(target), "--for", length, "--fail-on", "any",
			"--out", "out", "--force")
	})
	if got.code != 7 || !strings.Contains(got.stdout, "device memory grows") {
		t.Errorf("code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	if !strings.Contains(got.stderr, " a second (95 %: ") || !strings.Contains(got.stderr, "--inject ebpf") {
		t.Errorf("no fact, or no next step:\n%s", got.stderr)
	}
	if d := diagnosis.Unowned(readVerdict(t, filepath.Join(dir, "out"))); d == nil || d.Per != "second" {
		t.Errorf("verdict.json has no growth without an owner: %+v", d)
	}
	// A verdict that is not asked for fails nothing.
	if got := gpumemEnv(t, dir, env, "attach", pidOf(target), "--for", "6s", "--fail-on",
		"host-growth"); got.code != 0 {
		t.Errorf("code %d with --fail-on host-growth\n%s", got.code, got.stderr)
	}
}

func TestAProcessThatEndsWhileWatchedIsUndecided(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	brief := start(t, "sleep", "1")
	got := gpumem(t, t.TempDir(), "diagnose", pidOf(brief), "--for", "4s")
	if got.code != 0 || !strings.Contains(got.stdout, "1 undecided") ||
		!strings.Contains(got.stdout, "1 ended") {
		t.Errorf("code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
}

func TestExpectNoneListsUpToFiveThatAreLeft(t *testing.T) {
	t.Parallel()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("left-over-trainer-%d", os.Getpid())
	program := filepath.Join(t.TempDir(), name)
	// not written here: see TestAttachRefusesAnothersProcess
	if err := exec.Command("cp", sleep, program).Run(); err != nil {
		t.Fatal(err)
	}
	args := []string{"diagnose", "--expect-none", name}
	// The name stands in our own command line and in this one, which do not count.
	start(t, "sh", "-c", "sleep 60; : "+name)
	if got := gpumem(t, t.TempDir(), args...); got.code != 0 || got.stderr != "" {
		t.Fatalf("code %d: %s%s", got.code, got.stdout, got.stderr)
	}
	if got := gpumem(t, t.TempDir(), "run", "-q", "--alone", "--out", "r", "--", program,
		"0"); got.code != 0 {
		t.Fatalf("the only one is refused: code %d: %s", got.code, got.stderr)
	}
	for range 7 {
		start(t, program, "60")
	}
	got := gpumem(t, t.TempDir(), args...)
	if got.code != 1 || !strings.Contains(got.stderr, "7 processes of "+name+" are left:") ||
		!strings.HasSuffix(got.stderr, "and 2 more\n") || strings.Count(got.stderr, "iB)") != 5 {
		t.Errorf("code %d: %s", got.code, got.stderr)
	}
	got = gpumem(t, t.TempDir(), "run", "--alone", "--out", "r", "--", program, "0")
	if got.code != 1 || !strings.HasSuffix(got.stderr, "and 2 more; end them, or start without --alone\n") ||
		strings.Count(got.stderr, "\n") != 1 {
		t.Errorf("a second one is started: code %d: %s", got.code, got.stderr)
	}
	got = gpumem(t, t.TempDir(), append(args, "--json")...)
	var left struct{ Left []json.RawMessage }
	if err := json.Unmarshal([]byte(got.stdout), &left); err != nil || len(left.Left) != 7 || got.code != 1 {
		t.Errorf("code %d, %v: %s", got.code, err, got.stdout)
	}
}

func TestAZombieIsListedWithItsParent(t *testing.T) {
	t.Parallel()
	child := exec.Command("true")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait()
	waitForZombie(t, child.Process.Pid)
	got := gpumem(t, t.TempDir(), "diagnose")
	want := fmt.Sprintf("%d (true, parent %d)", child.Process.Pid, os.Getpid())
	// Others may be there, too, so that the line is wrapped.
	if text := strings.Join(strings.Fields(got.stdout), " "); !strings.Contains(text, want) {
		t.Errorf("%q is missing:\n%s", want, got.stdout)
	}
}

func TestDiagnoseRefusesWhatDoesNotGoTogether(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		code int
		say  string
	}{
		{[]string{"--fail-on", "any"}, 2, "need --for"},
		{[]string{"--for", "1s"}, 2, "must be 3s or more"},
		{[]string{"--for", "10s", "--interval", "1s"}, 2, "150 samples"},
		{[]string{"--format", "html"}, 2, "text, json or sections"},
		{[]string{"--expect-none", "a", "1"}, 2, "takes neither PIDs nor --for"},
		{[]string{"--fail-on", "leak", "--for", "5s"}, 2, "no such verdict"},
		{[]string{"x"}, 2, "is not a PID"},
		{[]string{"2000000000"}, 1, "no such process"},
		{[]string{"--no-such-flag"}, 2, "unknown flag"},
	} {
		got := gpumem(t, t.TempDir(), append([]string{"diagnose"}, c.args...)...)
		if got.code != c.code || !strings.Contains(got.stderr, c.say) ||
			strings.Count(got.stderr, "\n") != 1 || got.stdout != "" {
			t.Errorf("diagnose %q: code %d, want %d with %q\n%s%s", c.args, got.code, c.code, c.say,
				got.stdout, got.stderr)
		}
	}
}

func TestTheScriptAsksGpumemWhereItIs(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	script := filepath.Join("..", "..", "..", "scripts", "diagnose_memory_leak.sh")
	for _, here := range []bool{true, false} {
		cmd := exec.Command("bash", script, "tl")
		if here {
			cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(binary)+":"+os.Getenv("PATH"))
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		text := string(out)
		if strings.Contains(text, "FOOTPRINT") != here ||
			!strings.HasPrefix(text, "=== GPU Memory Leak Diagnosis ===") ||
			!strings.HasSuffix(text, "=== Diagnosis complete ===\n") {
			t.Errorf("with gpumem %v:\n%s", here, text)
		}
		for i, title := range []string{"Top 20 processes by memory", "Processes of the runtime (tl)",
			"Metal, GPU and MTL processes", "VSCode GPU helper processes", "GPU memory"} {
			if !strings.Contains(text, fmt.Sprintf("\n%d. %s", i+1, title)) {
				t.Errorf("with gpumem %v: section %d is missing:\n%s", here, i+1, text)
			}
		}
	}
}
