package e2e

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// watchedProcess is what diagnose says of one process that it watched.
type watchedProcess struct {
	Grows   bool
	Verdict verdict.Verdict
}

// diagnosedWithin watches a guest for a time with the agent in it.
func diagnosedWithin(t *testing.T, g *guest, length string) watchedProcess {
	t.Helper()
	got := gpumem(t, t.TempDir(), "diagnose", pidOf(g.Cmd), "--for", length, "--inject", "--json")
	var told struct{ Processes []watchedProcess }
	if err := json.Unmarshal([]byte(got.stdout), &told); err != nil || len(told.Processes) != 1 {
		t.Fatalf("%v\n%s%s", err, got.stdout, got.stderr)
	}
	return told.Processes[0]
}

func TestDiagnoseWithInjectSaysWhoHoldsWhatGrowsAndLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	g := startGuest(t, []string{"python3"}, "grow")
	before := g.state(t)
	p := diagnosedWithin(t, g, "12s")
	if !p.Grows || len(p.Verdict.Holders) == 0 {
		t.Logf("once more, for longer: %s", p.Verdict.Summary)
		p = diagnosedWithin(t, g, "40s")
	}
	if !p.Grows || len(p.Verdict.Holders) == 0 || !strings.Contains(p.Verdict.Holders[0].Path, "asked.keep") {
		t.Errorf("grows %v, holders %+v: %s", p.Grows, p.Verdict.Holders, p.Verdict.Answer)
	}
	before = g.isCleanBut(t, before, aDescriptor)
	var text string
	for _, length := range []string{"12s", "40s"} {
		text = gpumem(t, t.TempDir(), "diagnose", pidOf(g.Cmd), "--for", length, "--inject=python").stdout
		if strings.Contains(text, "held by") {
			break
		}
		t.Logf("once more, for longer:\n%s", text)
	}
	if !strings.Contains(text, "held by list asked.keep") || !strings.Contains(text, "next: ") {
		t.Errorf("the text names no holder:\n%s", text)
	}
	g.isClean(t, before)
}

func TestDiagnoseEntersNobodyUnlessAsked(t *testing.T) {
	t.Parallel()
	g := startGuest(t, []string{"python3"})
	before := g.state(t)
	cmd := exec.Command(binary, "diagnose", pidOf(g.Cmd), "--for", "4s", "-q")
	cmd.Dir = t.TempDir()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if now := g.state(t); fmt.Sprint(now) != fmt.Sprint(before) {
			t.Errorf("the program has %+v, and had %+v before", now, before)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestWatchWithInjectTellsWhatTheProgramKnows(t *testing.T) {
	t.Parallel()
	g := startGuest(t, []string{"python3"})
	before := g.state(t)
	got := gpumem(t, t.TempDir(), "watch", pidOf(g.Cmd), "--inject", "--json", "--samples", "30",
		"--interval", "200ms")
	if !strings.Contains(got.stdout, `"`+record.ColHostHeap+`"`) {
		t.Errorf("code %d, no line tells the heap:\n%s%s", got.code, got.stdout, got.stderr)
	}
	g.isCleanBut(t, before, aDescriptor)
	outside := gpumem(t, t.TempDir(), "watch", pidOf(g.Cmd), "--json", "--samples", "3", "--interval", "200ms")
	if outside.code != 0 || strings.Contains(outside.stdout, record.ColHostHeap) {
		t.Errorf("code %d, not from outside:\n%s%s", outside.code, outside.stdout, outside.stderr)
	}
}

func TestWhoCannotBeEnteredIsWatchedFromOutsideAndThatIsSaid(t *testing.T) {
	t.Parallel()
	g := startGuest(t, []string{"env", "PYTHON_DISABLE_REMOTE_DEBUG=1", "python3"})
	const why = "remote debugging turned off"
	lines := gpumem(t, t.TempDir(), "watch", pidOf(g.Cmd), "--inject", "--json", "--samples", "10",
		"--interval", "200ms")
	if lines.code != 0 || strings.Count(lines.stderr, why) != 1 {
		t.Errorf("watch: code %d\n%s", lines.code, lines.stderr)
	}
	diagnosed := gpumem(t, t.TempDir(), "diagnose", pidOf(g.Cmd), "--for", "4s", "--inject")
	if diagnosed.code != 0 || strings.Count(strings.Join(strings.Fields(diagnosed.stdout), " "), why) != 1 {
		t.Errorf("diagnose: code %d\n%s", diagnosed.code, diagnosed.stdout)
	}
}

func TestInjectOfWatchAndDiagnoseRefusesWhatMeansNothing(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"--inject needs --for":                 {"diagnose", "--inject"},
		"--inject ebpf: watched programs take": {"diagnose", "--for", "4s", "--inject=ebpf"},
		"--inject all: watched programs take":  {"watch", "--json", "--samples", "1", "--inject=all"},
	} {
		if got := gpumem(t, t.TempDir(), args...); got.code != 2 || !strings.Contains(got.stderr, want) ||
			strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%q: code %d, %q, want %q", args, got.code, got.stderr, want)
		}
	}
}
