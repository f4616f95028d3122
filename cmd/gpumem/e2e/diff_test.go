package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/verdict"
)

func TestDiffSaysWhatAChangeMadeGrow(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	dir := t.TempDir()
	for out, fault := range map[string]string{"base": "", "same": "", "new": "uncut-graph"} {
		args := []string{"run", "-q", "--out", out, "nqueens", "--attempts=2", "--solutions=9",
			"--fault=" + fault}
		if fault == "" { // a healthy one must find what it looks for
			args = []string{"run", "-q", "--out", out, "nqueens", "--solutions=1"}
		}
		if got := gpumem(t, dir, args...); got.code != 0 {
			t.Fatalf("%s: exit code %d\n%s", out, got.code, got.stderr)
		}
	}
	for _, c := range []struct {
		args []string
		code int
		want verdict.Class // none also stands for undecided: a busy machine is noise
	}{
		{[]string{"diff", "base", "new", "--json", "--fail-on", "any"}, 3, verdict.AppLeak},
		{[]string{"diff", "base", "same", "--json", "--fail-on", "any"}, 0, verdict.None},
		{[]string{"diff", "new", "base", "--json", "--fail-on", "any"}, 0, verdict.None},
	} {
		got := gpumem(t, dir, c.args...)
		var d verdict.Difference
		if err := json.Unmarshal([]byte(got.stdout), &d); err != nil {
			t.Fatalf("%v: %v\n%s", c.args, err, got.stderr)
		}
		said := d.Verdict
		if said == verdict.Undecided {
			said = verdict.None
		}
		if got.code != c.code || said != c.want {
			t.Errorf("gpumem %v: exit code %d (want %d), %s: %s", c.args, got.code, c.code,
				d.Verdict, d.Summary)
		}
	}
	if got := gpumem(t, dir, "diff", "base", "new", "-o", "diff.html"); got.code != 0 {
		t.Errorf("html: exit code %d, %s", got.code, got.stderr)
	}
	page, err := os.ReadFile(filepath.Join(dir, "diff.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"New less base", "Both runs: live", "Allocation sites", "app-leak"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	text := gpumem(t, dir, "diff", "base", "same").stdout
	if !strings.Contains(text, "~") || !strings.Contains(text, "none") {
		t.Errorf("noise is not marked:\n%s", text)
	}
}

func TestDiffRefusesWhatItCannotWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for want, args := range map[string][]string{
		"two runs":         {"diff", "a"},
		"diff writes text": {"diff", "a", "b", "--format", "pprof"},
		"a does not exist": {"diff", "a", "b"},
	} {
		if got := gpumem(t, dir, args...); got.code == 0 || !strings.Contains(got.stderr, want) {
			t.Errorf("gpumem %v: exit code %d, %q", args, got.code, got.stderr)
		}
	}
}
