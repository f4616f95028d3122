package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/cmd/gpumem/selftest"
	"github.com/gpumem/gpumem/internal/loader/standin"
)

// checked runs the real program and takes its JSON apart.
func checked(t *testing.T, env []string, args ...string) (selftest.Report, outcome) {
	t.Helper()
	got := gpumemEnv(t, t.TempDir(), env, append([]string{"selftest", "--json"}, args...)...)
	var r selftest.Report
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil {
		t.Fatalf("%v: %v\n%s%s", args, err, got.stdout, got.stderr)
	}
	return r, got
}

func find(r selftest.Report, group, check string) *selftest.Check {
	for i, c := range r.Checks {
		if strings.HasPrefix(c.Group, group) && strings.HasPrefix(c.Check, check) {
			return &r.Checks[i]
		}
	}
	return nil
}

func TestSelftestSeesMemoryOfAKnownSizeComeAndGo(t *testing.T) {
	t.Parallel()
	r, got := checked(t, nil, "--device", "host,soft", "--gpu", "none", "--size", "48MiB")
	if got.code != 0 || !r.OK {
		t.Errorf("exit code %d, ok %v\n%s", got.code, r.OK, got.stdout)
	}
	for _, c := range []struct{ group, check string }{
		{"soft", "the driver's counter grows"}, {"soft", "the driver's counter falls"},
		{"host", "footprint grows"}, {"host", "footprint falls"}, {"soft", "footprint grows"},
	} {
		found := find(r, c.group, c.check)
		if found == nil || found.Result != selftest.OK || found.Found == nil {
			t.Errorf("%s, %s: %+v", c.group, c.check, found)
			continue
		}
		if strings.HasSuffix(c.check, "grows") && (found.Expected == nil || *found.Expected != 48<<20 ||
			*found.Found < 40<<20) {
			t.Errorf("%s, %s: %d B, %+v", c.group, c.check, *found.Found, found)
		}
	}
	if c := find(r, "soft", "allocates 48.0 MiB and runs a kernel"); c == nil || c.Result != selftest.OK {
		t.Errorf("no kernel ran: %+v", c)
	}
}

func TestASelftestReportNamesNeitherHostNorUserNorPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	got := gpumem(t, dir, "selftest", "--device", "soft", "-o", "report.txt")
	if got.code != 0 || got.stdout != "" {
		t.Errorf("exit code %d, stdout %q, %s", got.code, got.stdout, got.stderr)
	}
	text, err := os.ReadFile(filepath.Join(dir, "report.txt"))
	if err != nil {
		t.Fatal(err)
	}
	host, _ := os.Hostname()
	home, _ := os.UserHomeDir()
	for _, secret := range []string{host, home, dir, filepath.Dir(binary)} {
		if len(secret) > 3 && bytes.Contains(text, []byte(secret)) {
			t.Errorf("%q is in the report:\n%s", secret, text)
		}
	}
	for line := range strings.Lines(string(text)) {
		if n := plain.Cells(strings.TrimSuffix(line, "\n")); n > plain.Width {
			t.Errorf("a line of %d columns: %s", n, line)
		}
	}
	again := gpumem(t, dir, "selftest", "--device", "soft", "-o", "report.txt")
	if again.code != 1 || !strings.Contains(again.stderr, "--force") {
		t.Errorf("written over: exit code %d, %s", again.code, again.stderr)
	}
}

func TestADriverThatIsNotHereIsNotWrong(t *testing.T) {
	t.Parallel()
	r, got := checked(t, []string{"CUDA_VISIBLE_DEVICES="}, "--device", "cuda,apple", "--gpu", "none")
	for _, group := range []string{"cuda", "apple"} {
		c := find(r, group, "")
		if c == nil || c.Result != selftest.Absent || c.Text == "" {
			t.Errorf("%s: %+v", group, c)
		}
	}
	if got.code != 0 {
		t.Errorf("exit code %d\n%s", got.code, got.stdout)
	}
}

func TestWhatSelftestCannotDoIsAUsageError(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		`did you mean "soft"?`: {"selftest", "--device", "sofd"},
		"name a device":        {"selftest", "--device", "auto"},
		"from 16MiB":           {"selftest", "--size", "1MiB"},
		"takes no arguments":   {"selftest", "now"},
	} {
		got := gpumem(t, t.TempDir(), args...)
		if got.code != 2 || !strings.Contains(got.stderr, want) || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%v: exit code %d, %q", args, got.code, got.stderr)
		}
	}
}

func TestAToolThatDisagreesMakesTheExitCode1(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := standin.WriteProgram(filepath.Join(dir, "ps"), []byte("#!/bin/sh\necho 5\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	path := "PATH=" + dir + string(os.PathListSeparator) + os.Getenv("PATH")
	r, got := checked(t, []string{path}, "--device", "soft", "--gpu", "none")
	c := find(r, "soft", "resident size, ps")
	if got.code != 1 || r.OK || c == nil || c.Result != selftest.Wrong || *c.Expected != 5<<10 {
		t.Errorf("exit code %d, ok %v, %+v", got.code, r.OK, c)
	}
}
