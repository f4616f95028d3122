package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/gpumem/gpumem/pool"
	"github.com/gpumem/gpumem/report"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
	"github.com/gpumem/gpumem/workloads"
)

// redactFlags say whether names are taken out of what is printed.
type redactFlags struct {
	on   bool
	salt string
}

func (f *redactFlags) add(flags *pflag.FlagSet, usage string) {
	flags.BoolVar(&f.on, "redact", false, usage)
	flags.StringVar(&f.salt, "salt", "",
		"with --redact: the same salt gives the same replacements in other runs; keep it to yourself "+
			"(default: random)")
}

// check refuses a salt that would do nothing.
func (f *redactFlags) check() error {
	if f.salt != "" && !f.on {
		return usagef("--salt is for --redact")
	}
	return nil
}

// redactor is nil when nothing is to be taken out.
func (f *redactFlags) redactor() *report.Redactor {
	if !f.on {
		return nil
	}
	salt := []byte(f.salt)
	if len(salt) == 0 {
		salt = make([]byte, 32)
		rand.Read(salt) // never fails, by its contract
	}
	return report.NewRedactor(salt, bundledWords()...)
}

// bundledWords are the words in names of bundled workloads, of their flags and
// faults, and of policies: they tell nothing of who runs them.
func bundledWords() []string {
	names := append(workloadNames(), workloadFlagNames()...)
	for _, w := range workloads.All() {
		for _, f := range w.Faults {
			names = append(names, f.Name)
		}
		for _, f := range w.Flags {
			names = append(names, f.Name)
		}
	}
	for _, p := range pool.Policies() {
		names = append(names, p.Name)
	}
	var words []string
	for _, name := range names {
		words = append(words, strings.Split(name, "-")...)
	}
	return words
}

// redactFolder writes the run once more as a folder without names. A verdict is
// reached anew, from what is left: nothing of the old one can be in it.
func redactFolder(std stdio, r *report.Redactor, run *record.Run, dir string, force bool,
	judging verdict.Options) (*verdict.Verdict, error) {
	if err := emptyFolder(dir, force); err != nil {
		return nil, err
	}
	out := r.Run(run)
	v := verdict.Judge(out, judging)
	temp, err := os.MkdirTemp(filepath.Dir(filepath.Clean(dir)), ".redact-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	if err := record.Save(temp, out, record.CreateOptions{Force: true}); err != nil {
		return nil, err
	}
	if err := addReports(temp, out, v); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.Rename(temp, dir); err != nil {
		return nil, err
	}
	fmt.Fprintf(std.err, "redacted copy: %s  (open %s)\n", dir, filepath.Join(dir, record.FileReport))
	for _, name := range leftOut(run.Path) {
		fmt.Fprintf(std.err, "left out: %s, which is not gpumem's to redact\n", name)
	}
	return v, nil
}

// emptyFolder makes sure that nothing but a run is overwritten, and that only
// when asked for.
func emptyFolder(dir string, force bool) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%s is no folder; --redact writes a run folder, and with --format one report", dir)
	case len(entries) > 0 && !force:
		return fmt.Errorf("%s exists; overwrite it with --force", dir)
	}
	for _, e := range entries {
		if !slices.Contains(runFiles(), e.Name()) {
			return fmt.Errorf("%s holds %s, which is no file of a run; name another folder", dir, e.Name())
		}
	}
	return nil
}

// runFiles are the files of a run folder that can be redacted.
func runFiles() []string {
	return []string{record.FileMeta, record.FileSamples, record.FileEvents, record.FileVerdict,
		record.FileReport, record.FileAllocations}
}

// leftOut are the files beside a run's own.
func leftOut(dir string) (names []string) {
	entries, _ := os.ReadDir(dir) // a bare CSV has no folder
	for _, e := range entries {
		if !slices.Contains(runFiles(), e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names
}
