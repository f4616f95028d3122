package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"github.com/gpumem/gpumem/cmd/gpumem/option"
)

func TestEveryHelpFitsAHundredColumns(t *testing.T) {
	t.Parallel()
	root := newRoot(stdio{os.Stdin, os.Stdout, os.Stderr}, func(string) string { return "" })
	pages := 0
	for _, c := range root.Commands() {
		if c.Hidden {
			continue
		}
		pages++
		for _, line := range strings.Split(helpOf(t, c.Name(), "--help"), "\n") {
			if n := utf8.RuneCountInString(line); n > 100 {
				t.Errorf("%s --help: %d columns: %s", c.Name(), n, line)
			}
		}
	}
	if pages < 10 {
		t.Errorf("%d pages of help were seen", pages)
	}
}

func TestTheShortHelpSaysWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	short, all := helpOf(t, "run", "--help"), helpOf(t, "run", "--help-all")
	if strings.Contains(short, "--metrics") ||
		!strings.Contains(short, "gpumem run --help-all has") || !strings.Contains(short, "Examples:") {
		t.Errorf("--help: %s", short)
	}
	f, flags := defaultRunFlags(), pflag.NewFlagSet("run", pflag.ContinueOnError)
	f.add(flags)
	flags.VisitAll(func(flag *pflag.Flag) {
		if n := strings.Count(all, "--"+flag.Name+" "); n == 0 {
			t.Errorf("--help-all leaves out --%s", flag.Name)
		}
	})
	if strings.Contains(all, option.RestTitle+":") {
		t.Errorf("a flag of run has no group:\n%s", all)
	}
}

// helpOf is the help that a command line asks for, where nobody looks.
func helpOf(t *testing.T, args ...string) string {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "help"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	std := stdio{in: os.Stdin, out: out, err: out}
	if code := run(t.Context(), args, std, func(string) string { return "" }); code != exitDone {
		t.Errorf("gpumem %q: exit code %d", args, code)
	}
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
