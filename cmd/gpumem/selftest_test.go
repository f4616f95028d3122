package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/probe"
)

// checked runs the real program and takes its JSON apart.
func checked(t *testing.T, env []string, args ...string) (selftestReport, outcome) {
	t.Helper()
	got := gpumemEnv(t, t.TempDir(), env, append([]string{"selftest", "--json"}, args...)...)
	var r selftestReport
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil {
		t.Fatalf("%v: %v\n%s%s", args, err, got.stdout, got.stderr)
	}
	return r, got
}

func find(r selftestReport, group, check string) *selftestCheck {
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
		if found == nil || found.Result != okResult || found.Found == nil {
			t.Errorf("%s, %s: %+v", c.group, c.check, found)
			continue
		}
		if strings.HasSuffix(c.check, "grows") && (found.Expected == nil || *found.Expected != 48<<20 || *found.Found < 40<<20) {
			t.Errorf("%s, %s: %d B, %+v", c.group, c.check, *found.Found, found)
		}
	}
	if c := find(r, "soft", "allocates 48.0 MiB and runs a kernel"); c == nil || c.Result != okResult {
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
		if n := cellsOf(strings.TrimSuffix(line, "\n")); n > lineWidth {
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
		if c == nil || c.Result != absentResult || c.Text == "" {
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

// tester is one whose report is looked at, without a program.
func tester() *selfTester { return &selfTester{report: newSelftestReport(), size: 64 << 20} }

func TestAnAccountThatDoesNotSeeTheMemoryIsWrong(t *testing.T) {
	t.Parallel()
	const size, unknown = 64 << 20, probe.Unknown
	for name, c := range map[string]struct {
		a    account
		want []selftestResult
	}{
		"as it should be": {account{before: 5, held: size + 5, after: 6}, []selftestResult{okResult, okResult}},
		"sees nothing":    {account{before: 5, held: 5, after: 5}, []selftestResult{wrongResult, okResult}},
		"keeps it":        {account{before: 5, held: size, after: size}, []selftestResult{okResult, wrongResult}},
		"sees it twice":   {account{before: 0, held: 2 * size, after: 0}, []selftestResult{wrongResult, okResult}},
		"is not told":     {account{before: 0, held: unknown, after: 0}, []selftestResult{unknownResult}},
	} {
		s := tester()
		s.judge(&c.a)
		var got []selftestResult
		for _, check := range s.report.Checks {
			got = append(got, check.Result)
		}
		if len(got) != len(c.want) || got[0] != c.want[0] || got[len(got)-1] != c.want[len(c.want)-1] {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		if wrong := s.report.count(wrongResult) > 0; s.report.OK == wrong {
			t.Errorf("%s: ok %v with %d wrong", name, s.report.OK, s.report.count(wrongResult))
		}
	}
}

func TestAToolThatSaysOtherwiseIsWrongAndASilentOneIsNot(t *testing.T) {
	t.Parallel()
	ours := func(values ...int64) func() int64 {
		return func() int64 {
			v := values[0]
			values = values[1:]
			return v
		}
	}
	theirs := func(v int64, err error) func() (int64, error) { return func() (int64, error) { return v, err } }
	s := tester()
	s.compare("equal", ours(100<<20, 100<<20), theirs(100<<20, nil))
	s.compare("between two of ours", ours(100<<20, 200<<20), theirs(150<<20, nil))
	s.compare("other", ours(100<<20, 100<<20), theirs(110<<20, nil))
	s.compare("no tool", ours(1, 1), theirs(0, errors.New("x is not installed")))
	s.compare("no number of ours", ours(probe.Unknown, 1), theirs(5, nil))
	want := []selftestResult{okResult, okResult, wrongResult, unknownResult, unknownResult}
	for i, c := range s.report.Checks {
		if c.Result != want[i] {
			t.Errorf("%s: %s, want %s", c.Check, c.Result, want[i])
		}
	}
}

func TestAToolThatDisagreesMakesTheExitCode1(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ps"), []byte("#!/bin/sh\necho 5\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	path := "PATH=" + dir + string(os.PathListSeparator) + os.Getenv("PATH")
	r, got := checked(t, []string{path}, "--device", "soft", "--gpu", "none")
	c := find(r, "soft", "resident size, ps")
	if got.code != 1 || r.OK || c == nil || c.Result != wrongResult || *c.Expected != 5<<10 {
		t.Errorf("exit code %d, ok %v, %+v", got.code, r.OK, c)
	}
}

// The JSON of footprint is in the form that projects on GitHub read (bytes per
// unit, processes, auxiliary); it was not recorded.
func TestWhatTheSystemsToolsPrintIsRead(t *testing.T) {
	t.Parallel()
	const footprint = `{"unit":"byte","bytes per unit":1,"total footprint":7,"processes":[
		{"pid":41,"auxiliary":{"phys_footprint":1}},
		{"pid":42,"name":"x","auxiliary":{"dirty":3,"phys_footprint":123456,"phys_footprint_peak":234567},"categories":{"IOAccelerator":{"dirty":5}}}]}`
	if v, err := parseFootprint([]byte(footprint), 42, "phys_footprint"); err != nil || v != 123456 {
		t.Errorf("footprint: %d, %v", v, err)
	}
	if v, err := parseFootprint([]byte(strings.Replace(footprint, `unit":1`, `unit":16384`, 1)), 42, "phys_footprint_peak"); err != nil || v != 234567*16384 {
		t.Errorf("footprint in pages: %d, %v", v, err)
	}
	if v, err := parsePS([]byte("  1024\n")); err != nil || v != 1<<20 {
		t.Errorf("ps: %d, %v", v, err)
	}
	if v, err := parseSMI([]byte("41, 5\n42, 674\n42, 2\n"), 42); err != nil || v != 676<<20 {
		t.Errorf("nvidia-smi: %d, %v", v, err)
	}
	for what, err := range map[string]error{
		"footprint without the process": second(parseFootprint([]byte(footprint), 43, "phys_footprint")),
		"footprint without the figure":  second(parseFootprint([]byte(footprint), 41, "phys_footprint_peak")),
		"no JSON":                       second(parseFootprint([]byte("error"), 42, "phys_footprint")),
		"ps without the process":        second(parsePS([]byte("\n"))),
		"nvidia-smi without it":         second(parseSMI([]byte("41, 5\n"), 42)),
		"nvidia-smi without rights":     second(parseSMI([]byte("42, [N/A]\n"), 42)),
	} {
		if err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestASubjectThatDiesIsAReportNotACrash(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "dies")
	script := "#!/bin/sh\necho '{\"name\":\"x\",\"driver\":\"soft\"}'\nread word\necho 'uncaught exception' >&2\nkill -ABRT $$\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	s, err := startSubject(context.Background(), program, softDevice, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.do(holdWord); err == nil || !strings.Contains(err.Error(), "uncaught exception") {
		t.Errorf("%v", err)
	}
}

func FuzzToolOutputs(f *testing.F) {
	f.Add([]byte(`{"processes":[{"pid":42,"auxiliary":{"phys_footprint":1e300}}]}`))
	f.Add([]byte("42, 99999999999999999999"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, parse := range []func() (int64, error){
			func() (int64, error) { return parseFootprint(b, 42, "phys_footprint") },
			func() (int64, error) { return parsePS(b) },
			func() (int64, error) { return parseSMI(b, 42) },
		} {
			if v, err := parse(); err == nil && v < 0 {
				t.Errorf("%d", v)
			}
		}
	})
}
