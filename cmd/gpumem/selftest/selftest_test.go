package selftest

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/cmd/gpumem/device"
	"github.com/gpumem/gpumem/internal/loader/standin"
	"github.com/gpumem/gpumem/probe"
)

// quietTester is one whose report is looked at, without a program.
func quietTester() *tester { return &tester{report: newReport(""), size: 64 << 20} }

func TestAnAccountThatDoesNotSeeTheMemoryIsWrong(t *testing.T) {
	t.Parallel()
	const size, unknown = 64 << 20, probe.Unknown
	for name, c := range map[string]struct {
		a    account
		want []Result
	}{
		"as it should be": {account{before: 5, held: size + 5, after: 6}, []Result{OK, OK}},
		"sees nothing":    {account{before: 5, held: 5, after: 5}, []Result{Wrong, OK}},
		"keeps it":        {account{before: 5, held: size, after: size}, []Result{OK, Wrong}},
		"sees it twice":   {account{before: 0, held: 2 * size, after: 0}, []Result{Wrong, OK}},
		"is not told":     {account{before: 0, held: unknown, after: 0}, []Result{Unknown}},
	} {
		s := quietTester()
		s.judge(&c.a)
		var got []Result
		for _, check := range s.report.Checks {
			got = append(got, check.Result)
		}
		if len(got) != len(c.want) || got[0] != c.want[0] || got[len(got)-1] != c.want[len(c.want)-1] {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		if wrong := s.report.Count(Wrong) > 0; s.report.OK == wrong {
			t.Errorf("%s: ok %v with %d wrong", name, s.report.OK, s.report.Count(Wrong))
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
	theirs := func(v int64, err error) func() (int64, error) {
		return func() (int64, error) { return v, err }
	}
	s := quietTester()
	s.compare("equal", ours(100<<20, 100<<20), theirs(100<<20, nil))
	s.compare("between two of ours", ours(100<<20, 200<<20), theirs(150<<20, nil))
	s.compare("other", ours(100<<20, 100<<20), theirs(110<<20, nil))
	s.compare("no tool", ours(1, 1), theirs(0, errors.New("x is not installed")))
	s.compare("no number of ours", ours(probe.Unknown, 1), theirs(5, nil))
	want := []Result{OK, OK, Wrong, Unknown, Unknown}
	for i, c := range s.report.Checks {
		if c.Result != want[i] {
			t.Errorf("%s: %s, want %s", c.Check, c.Result, want[i])
		}
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
	if v, err := parseFootprint([]byte(strings.Replace(footprint, `unit":1`, `unit":16384`, 1)), 42,
		"phys_footprint_peak"); err != nil || v != 234567*16384 {
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
		"ps with a size below zero":     second(parsePS([]byte("-7"))),
		"nvidia-smi without it":         second(parseSMI([]byte("41, 5\n"), 42)),
		"nvidia-smi below zero":         second(parseSMI([]byte("42, -7"), 42)),
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
	script := "#!/bin/sh\necho '{\"name\":\"x\",\"driver\":\"soft\"}'\nread word\necho 'uncaught " +
		"exception' >&2\nkill -ABRT $$\n"
	if err := standin.WriteProgram(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	s, err := startSubject(context.Background(), program, device.Soft, 1<<20)
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
	f.Add([]byte("-7"))
	f.Add([]byte("42, -7"))
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
