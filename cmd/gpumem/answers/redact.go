package answers

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"github.com/gpumem/gpumem/cmd/gpumem/usage"
	"github.com/gpumem/gpumem/report"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// Redact says whether names are taken out of what is printed.
type Redact struct {
	On   bool
	salt string
}

// Add defines the flags.
func (f *Redact) Add(flags *pflag.FlagSet, help string) {
	flags.BoolVar(&f.On, "redact", false, help)
	flags.StringVar(&f.salt, "salt", "",
		"with --redact: the same salt gives the same replacements in other runs; keep it to yourself "+
			"(default: random)")
}

// Check refuses a salt that would do nothing.
func (f *Redact) Check() error {
	if f.salt != "" && !f.On {
		return usage.Errorf("--salt is for --redact")
	}
	return nil
}

// Redactor is nil when nothing is to be taken out. It keeps the words of known.
func (f *Redact) Redactor(known ...string) *report.Redactor {
	if !f.On {
		return nil
	}
	salt := []byte(f.salt)
	if len(salt) == 0 {
		salt = make([]byte, 32)
		rand.Read(salt) // never fails, by its contract
	}
	return report.NewRedactor(salt, known...)
}

// RedactOptions say how a folder is redacted.
type RedactOptions struct {
	Force    bool // overwrite a run folder
	Judging  verdict.Options
	Producer string    // the program that the report names
	Said     io.Writer // where the copy is, and what was left out
}

// RedactFolder writes the run once more into dir, as a folder without names. A verdict
// is reached anew, from what is left: nothing of the old one can be in it.
func RedactFolder(r *report.Redactor, run *record.Run, dir string,
	o RedactOptions) (*verdict.Verdict, error) {
	if err := emptyFolder(dir, o.Force); err != nil {
		return nil, err
	}
	out := r.Run(run)
	v := verdict.Judge(out, o.Judging)
	temp, err := os.MkdirTemp(filepath.Dir(filepath.Clean(dir)), ".redact-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	if err := record.Save(temp, out, record.CreateOptions{Force: true}); err != nil {
		return nil, err
	}
	if err := addReports(temp, out, v, o.Producer); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.Rename(temp, dir); err != nil {
		return nil, err
	}
	fmt.Fprintf(o.Said, "redacted copy: %s  (open %s)\n", dir, filepath.Join(dir, record.FileReport))
	for _, name := range leftOut(run.Path) {
		fmt.Fprintf(o.Said, "left out: %s, which is not gpumem's to redact\n", name)
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
		return fmt.Errorf("%s is not a folder; --redact writes a run folder, and with --format one report",
			dir)
	case len(entries) > 0 && !force:
		return fmt.Errorf("%s exists; overwrite it with --force", dir)
	}
	for _, e := range entries {
		if !slices.Contains(RunFiles(), e.Name()) {
			return fmt.Errorf("%s holds %s, which is not a file of a run; name another folder", dir, e.Name())
		}
	}
	return nil
}

// RunFiles are the files of a run folder that can be redacted.
func RunFiles() []string {
	return []string{record.FileMeta, record.FileSamples, record.FileEvents, record.FileVerdict,
		record.FileReport, record.FileAllocations}
}

// leftOut are the files beside a run's own.
func leftOut(dir string) (names []string) {
	entries, _ := os.ReadDir(dir) // a bare CSV has no folder
	for _, e := range entries {
		if !slices.Contains(RunFiles(), e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names
}
