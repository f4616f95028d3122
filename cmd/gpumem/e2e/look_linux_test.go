package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpumem/gpumem/cmd/gpumem/looking"
)

func TestALookNamesWhatHoldsTheMemoryAndLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	g := startGuest(t, []string{"python3"}, "grow")
	before := g.state(t)
	dir := t.TempDir()
	for _, args := range [][]string{{"-o", "a.json"}, {"--since", "a.json"}} {
		time.Sleep(1500 * time.Millisecond)
		got := gpumem(t, dir, append([]string{"look", pidOf(g.Cmd)}, args...)...)
		if got.code != 0 || got.stderr != "" || !strings.Contains(got.stdout, "list asked.keep") {
			t.Errorf("look %q: code %d\n%s%s", args, got.code, got.stdout, got.stderr)
		}
		text := strings.Join(strings.Fields(got.stdout), " ")
		if grew := strings.Contains(text, "of the holders, list asked.keep grew most"); grew !=
			(args[0] == "--since") {
			t.Errorf("look %q:\n%s", args, got.stdout)
		}
		before = g.isCleanBut(t, before, aDescriptor)
	}
	if list, _ := filepath.Glob(filepath.Join(dir, "*")); len(list) != 1 {
		t.Errorf("beside a.json there are %q", list)
	}
}

func TestALookFromOutsideSaysWhy(t *testing.T) {
	t.Parallel()
	g := startGuest(t, []string{"python3"})
	cmd, _ := joined(t, g, t.TempDir())
	defer cmd.Wait()
	defer cmd.Process.Signal(os.Interrupt)
	got := gpumem(t, t.TempDir(), "look", pidOf(g.Cmd), "--json")
	var l looking.Look
	if err := json.Unmarshal([]byte(got.stdout), &l); err != nil || got.code != 0 {
		t.Fatalf("code %d, %v\n%s%s", got.code, err, got.stdout, got.stderr)
	}
	if l.Inside || !strings.Contains(l.Outside, "gpumem is in it already") || l.Accounts.Host == nil {
		t.Errorf("%+v", l)
	}
	sleeper := start(t, "sleep", "60")
	if got := gpumem(t, t.TempDir(), "look", pidOf(sleeper)); got.code != 0 ||
		!strings.Contains(got.stdout, "of host memory") || strings.Contains(got.stdout, "note") {
		t.Errorf("a native program: code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
}

func TestALookThatCannotBeIsOneLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "other.json"), []byte(`{"a":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	sleeper := start(t, "sleep", "60")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"look"}, 2, "one PID"},
		{[]string{"look", "4194305"}, 1, "4194305"},
		{[]string{"look", pidOf(sleeper), "--inject", "ebpf"}, 2, "auto, python or none"},
		{[]string{"look", pidOf(sleeper), "--since", "other.json"}, 1, "is not a look that gpumem saved"},
		{[]string{"look", pidOf(sleeper), "-o", "other.json"}, 1, "--force"},
	} {
		got := gpumem(t, dir, c.args...)
		if got.code != c.code || strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, c.want) {
			t.Errorf("%q: code %d\n%s%s", c.args, got.code, got.stdout, got.stderr)
		}
	}
}
