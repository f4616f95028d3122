package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpumem/gpumem/cmd/gpumem/answers"
	"github.com/gpumem/gpumem/cmd/gpumem/option"
	"github.com/gpumem/gpumem/cmd/gpumem/output"
	"github.com/gpumem/gpumem/cmd/gpumem/usage"
	"github.com/gpumem/gpumem/report"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/importer"
	"github.com/gpumem/gpumem/tracer/record"
)

// importFlags are the flags of `gpumem import`.
type importFlags struct {
	report   reportFlags
	from     string
	out      string
	released bool
	steps    int64
}

func newImportCommand(std stdio, getenv func(string) string) *cobra.Command {
	f := importFlags{report: reportFlags{judging: option.DefaultJudging()}}
	cmd := &cobra.Command{
		Use:   "import FILE…",
		Short: "Make a run folder of a recording that another tool left",
		Long: `import reads a recording of another tool, as it is or compressed with gzip,
writes a run folder with what is in it, judges it as far as the data reaches,
and prints the verdict. Nothing in a file is executed. It knows by the content:

` + kindsText() + `
Two or more states of one moment (` + momentsText() + `), oldest
first, become one run with a row a file and the growth of each allocation site.
With --released they were written each time the program had given up what it
could: what stays then is a finding.`,
		Example: `  gpumem import snapshot.pickle
  gpumem import before.prof after1.prof after2.prof --released
  gpumem import rmm_log.csv --out rmm --format json
  gpumem import output.txt --from tl-mem-trace --steps-per-line 1500`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("import takes the recording of another tool; see gpumem import --help")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return importPaths(std, getenv, f, args) },
	}
	flags := cmd.Flags()
	f.report.addOutput(flags, "text, json, csv, html, markdown or pprof")
	flags.Lookup("force").Usage = "overwrite the run folder and the output file"
	flags.StringVar(&f.from, "from", "", "format of the files, where gpumem does not recognise it")
	flags.StringVar(&f.out, "out", "", "the run folder (default gpumem-NAME-TIME)")
	flags.BoolVar(&f.released, "released", false,
		"the files were written after the program had released what it could")
	flags.Int64Var(&f.steps, "steps-per-line", 0, "steps between two Memory: lines of a TL log")
	f.report.judging.Add(flags)
	complete(cmd, "from", answers.Kinds())
	return cmd
}

func kindsText() string {
	var b strings.Builder
	for _, k := range importer.Kinds() {
		fmt.Fprintf(&b, "  %-15s %s\n", k.Kind, k.About)
	}
	return b.String()
}

func momentsText() string {
	var names []string
	for _, k := range importer.Kinds() {
		if k.Moment {
			names = append(names, string(k.Kind))
		}
	}
	return strings.Join(names, ", ")
}

// importPaths makes one run of the files, writes its folder and judges it.
func importPaths(std stdio, getenv func(string) string, f importFlags, paths []string) error {
	o, err := f.options(len(paths))
	if err != nil {
		return err
	}
	format, err := f.report.format.For(f.report.output)
	if err != nil {
		return err
	}
	fail, err := option.ParseFailOn(f.report.failOn)
	if err != nil {
		return err
	}
	judging, err := f.report.judging.Options()
	if err != nil {
		return err
	}
	if err := output.Check(f.report.output, f.report.force); err != nil {
		return err
	}
	dir, err := f.save(paths, o)
	if err != nil {
		return err
	}
	to := sink(std, getenv, f.report.output, f.report.force)
	v, err := answers.Conclude(dir, judging, producer(), func(run *record.Run, v *verdict.Verdict) error {
		return to.Write(format, run, v)
	})
	if err != nil {
		return err
	}
	if output.ToStdout(f.report.output) && format == report.Text {
		fmt.Fprintf(std.err, "\nrun folder: %s  (open %s)\n", dir, filepath.Join(dir, record.FileReport))
	}
	if code := fail.Of(v); code != exitDone {
		return &codeError{code}
	}
	return nil
}

// save reads the files and writes the run folder, whose name it returns.
func (f importFlags) save(paths []string, o importer.Options) (string, error) {
	run, err := importRun(paths, o, f.released)
	if err != nil {
		return "", err
	}
	dir, force := f.out, f.report.force
	if dir == "" {
		if dir, err = record.NewFolder(strings.TrimSuffix(paths[0], filepath.Ext(paths[0])),
			time.Now()); err != nil {
			return "", err
		}
		force = true
	}
	err = record.Save(dir, run, record.CreateOptions{Force: force})
	if errors.Is(err, record.ErrExists) {
		return "", fmt.Errorf("%w; write into it with --force, or name another with --out", err)
	}
	return dir, err
}

func (f importFlags) options(files int) (importer.Options, error) {
	o := importer.Options{StepsPerLine: f.steps, From: importer.Kind(f.from)}
	if f.from != "" {
		known := false
		for _, name := range answers.Kinds() {
			known = known || name == f.from
		}
		if !known {
			return o, usagef("--from %s: no such format%s", f.from, usage.Suggest(f.from, answers.Kinds()))
		}
	}
	if f.released && files < 2 {
		return o, usagef("--released needs two files or more: the first is what the others are compared with")
	}
	if f.steps < 0 {
		return o, usagef("--steps-per-line %d: must be 1 or more", f.steps)
	}
	return o, nil
}

// importRun reads the files and puts several into one run.
func importRun(paths []string, o importer.Options, released bool) (*record.Run, error) {
	var runs []*record.Run
	for _, path := range paths {
		run, err := answers.Import(path, o)
		if err != nil {
			return nil, importError(path, o.From, err)
		}
		runs = append(runs, run)
	}
	if len(runs) == 1 {
		return runs[0], nil
	}
	run, err := importer.Join(runs, released)
	if errors.Is(err, importer.ErrOneFile) {
		return nil, usagef("%v; import each file on its own", err)
	}
	return run, err
}

// importError says what to try instead of a file that cannot be imported.
func importError(path string, from importer.Kind, err error) error {
	info, statErr := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%s does not exist; give the recording of another tool", path)
	case statErr == nil && info.IsDir():
		return fmt.Errorf("%s is a folder; read a run folder with gpumem report %s", path, path)
	case statErr == nil && info.Mode().IsRegular() && info.Size() == 0:
		return fmt.Errorf("import %s: the file is empty", path)
	case from != importer.Unknown:
		return fmt.Errorf("%w; --from %s asked for that format: try without it", err, from)
	case !errors.Is(err, importer.ErrUnknownFormat):
		return err
	}
	if statErr != nil || !info.Mode().IsRegular() {
		return fmt.Errorf("%w; known are %s; --from names one", err, strings.Join(answers.Kinds(), ", "))
	}
	if run, csvErr := record.Open(path); csvErr == nil && run.Samples.Len() > 0 {
		return fmt.Errorf("%s holds samples already; read it with gpumem report %s", path, path)
	}
	return fmt.Errorf("%w; known are %s; --from names one", err, strings.Join(answers.Kinds(), ", "))
}
