package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// recordings is the folder of other tools' real files.
func recordings(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "..", "tracer", "importer", "testdata"))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestEveryRealRecordingBecomesARunFolderWithAVerdict(t *testing.T) {
	t.Parallel()
	dir, from := t.TempDir(), recordings(t)
	for name, want := range map[string]struct {
		verdict verdict.Class
		says    string
	}{
		"torch_snapshot_leak.pickle.gz": {verdict.AppLeak, "train.py:11 <module>"},
		"jax_before.pprof":              {verdict.Undecided, "cannot show growth"},
		"memray_leaks.csv":              {verdict.Undecided, "grow.py:4 grow"},
		"memray_stats.json":             {verdict.Undecided, "not what is held"},
		"allocation_server.log":         {"", "died with"},
	} {
		out := filepath.Join(dir, name)
		got := gpumem(t, dir, "import", filepath.Join(from, name), "--out", out)
		flat := strings.Join(strings.Fields(got.stdout), " ")
		if got.code != 0 || !strings.Contains(flat, want.says) ||
			!strings.Contains(got.stderr, "run folder: ") {
			t.Errorf("%s: exit code %d, no %q in\n%s%s", name, got.code, want.says, got.stdout, got.stderr)
			continue
		}
		run, err := record.Open(out)
		if err != nil || run.Samples.Len() == 0 || run.Meta.Sampling != nil {
			t.Errorf("%s: %v, %+v", name, err, run)
		}
		if v := readVerdict(t, out); want.verdict != "" && v.Verdict != want.verdict {
			t.Errorf("%s: %s, want %s", name, v.Verdict, want.verdict)
		}
		if _, err := os.Stat(filepath.Join(out, record.FileReport)); err != nil {
			t.Error(err)
		}
	}
}

func TestTwoProfilesAfterEverythingWasReleasedAreAFinding(t *testing.T) {
	t.Parallel()
	dir, from := t.TempDir(), recordings(t)
	args := []string{"import", filepath.Join(from, "jax_before.pprof"),
		filepath.Join(from, "jax_after.pprof"), "--json"}
	if got := gpumem(t, dir, append(args, "--out", "plain", "--fail-on", "any")...); got.code != 0 ||
		!strings.Contains(got.stdout, `"growth_bytes": 10485760`) {
		t.Errorf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	if got := gpumem(t, dir, append(args, "--out", "released", "--released", "--fail-on",
		"app-leak")...); got.code != 3 {
		t.Errorf("exit code %d, want 3\n%s%s", got.code, got.stdout, got.stderr)
	}
}

func TestWhatCannotBeImportedEndsInOneLine(t *testing.T) {
	t.Parallel()
	dir, from := t.TempDir(), recordings(t)
	for name, text := range map[string]string{
		"empty": "", "notes.txt": "nothing of a recording\n", "samples.csv": "t_ms,rss_bytes\n0,1\n",
		"cut.pickle": "\x80\x04}(\x8c\x08segments",
		"run.pickle": "\x80\x04\x8c\x08segments0cos\nsystem\n\x8c\x04true\x85R.",
		"bad.json":   `{"total_num_allocations": 1, "total_bytes_allocated": `,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "taken"), 0o755); err != nil {
		t.Fatal(err)
	}
	jax, log := filepath.Join(from, "jax_before.pprof"), filepath.Join(from, "allocation_server.log")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, 2, "takes the recording"},
		{[]string{"missing"}, 1, "does not exist"},
		{[]string{"taken"}, 1, "is a folder"},
		{[]string{"notes.txt"}, 1, "known are torch-snapshot, jax-profile"},
		{[]string{"samples.csv"}, 1, "gpumem report samples.csv"},
		{[]string{"cut.pickle"}, 1, "at byte"},
		{[]string{"run.pickle"}, 1, "nothing in a file is run"},
		{[]string{"bad.json"}, 1, "is the file complete?"},
		{[]string{jax, "--from", "jax-profil"}, 2, `did you mean "jax-profile"?`},
		{[]string{jax, "--from", "rmm-log"}, 1,
			"no event could be read; --from rmm-log asked for that format: try without it"},
		{[]string{"empty"}, 1, "the file is empty"},
		{[]string{jax, "--released"}, 2, "two files or more"},
		{[]string{log, log}, 2, "import each file on its own"},
		{[]string{jax, log}, 1, "is allocation-log"},
		{[]string{jax, "--out", "taken"}, 1, "--force"},
		{[]string{jax, "--format", "jsn"}, 2, `did you mean "json"?`},
		{[]string{log, "--steps-per-line", "-1"}, 2, "must be 1 or more"},
	} {
		got := gpumem(t, dir, append([]string{"import"}, c.args...)...)
		if got.code != c.code || strings.Count(got.stderr, "\n") != 1 ||
			!strings.Contains(got.stderr, c.want) || got.stdout != "" {
			t.Errorf("import %v: exit code %d (want %d), stdout %q, stderr %q (want one line with %q)",
				c.args, got.code, c.code, got.stdout, got.stderr, c.want)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "gpumem-*")); len(left) > 0 {
		t.Errorf("a failed import left %v", left)
	}
}

func TestTheShellCompletesNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for want, args := range map[string][]string{
		"jax-profile\n": {"__complete", "import", "x", "--from", ""},
		"memory_viz\n":  {"__complete", "export", "x", "--to", ""},
		"markdown\n":    {"__complete", "run", "--format", ""},
		"no-flush\n":    {"__complete", "run", "--fault", ""},
		"--epochs\t":    {"__complete", "run", "nqueens", "--"},
		"--interval\t":  {"__complete", "run", "nqueens", "--"},
		"app-leak\n":    {"__complete", "report", "--fail-on", ""},
	} {
		if got := gpumem(t, dir, args...); !strings.Contains(got.stdout, want) {
			t.Errorf("%v: %q", args, got.stdout)
		}
	}
}
