package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gpumem/gpumem/cmd/gpumem/answers"
	"github.com/gpumem/gpumem/cmd/gpumem/folders"
	"github.com/gpumem/gpumem/cmd/gpumem/option"
	"github.com/gpumem/gpumem/cmd/gpumem/output"
	"github.com/gpumem/gpumem/report"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/importer"
	"github.com/gpumem/gpumem/tracer/record"
)

// reportFlags say how a verdict is reached and where it is printed.
type reportFlags struct {
	format  option.Format
	output  string
	force   bool
	failOn  []string
	judging option.Judging
	redact  answers.Redact
	folder  bool // a redacted copy of the whole run folder is wanted
}

// addOutput defines the flags of where and how a command prints.
func (f *reportFlags) addOutput(flags *pflag.FlagSet, formats string) {
	f.format.Add(flags, formats)
	flags.StringVarP(&f.output, "output", "o", "", output.Help)
	flags.BoolVar(&f.force, "force", false, "overwrite the output file")
	option.AddFailOn(flags, &f.failOn)
}

func newReportCommand(std stdio, getenv func(string) string) *cobra.Command {
	f := reportFlags{judging: option.DefaultJudging()}
	var stepsPerLine int64
	cmd := &cobra.Command{
		Use:   "report [PATH…]",
		Short: "Answer from a run folder, a CSV of samples or a log of another tool",
		Long: `report judges what was recorded: a run folder, a bare CSV with any subset of
the columns of samples.csv, or a recording of another tool, as it is or
compressed with gzip, known by its content (gpumem import says more):

` + kindsText() + `
Without a path it takes the newest recording in this folder.
A pipe may stand for a file, as in gpumem report <(zcat samples.csv.gz). Of a
run folder only regular files are read: a pipe, a device or a link that leads
out of the folder is refused.

--redact takes out the host's name, users, paths, the command line, the
environment and the names of modules and functions; each word is replaced by the
same letters wherever it stands. With -o it writes the whole run folder anew, to
be shared; with --format too, or without -o, one report.`,
		Example: `  gpumem report
  gpumem report gpumem-train-20261120T120000Z
  gpumem report samples.csv --format json
  gpumem report mem_trace.log --steps-per-line 1500
  gpumem report DIR -o report.html
  gpumem report DIR --redact -o DIR-to-share`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				path, err := folders.Newest(".")
				if err != nil {
					return err
				}
				args = []string{path}
			}
			f.folder = f.redact.On && !output.ToStdout(f.output) && !f.format.Given()
			return reportPaths(std, getenv, f, args, importer.Options{StepsPerLine: stepsPerLine})
		},
	}
	f.addOutput(cmd.Flags(), "text, json, csv, html, markdown or pprof")
	cmd.Flags().Int64Var(&stepsPerLine, "steps-per-line", 0, "steps between two Memory: lines of a TL log")
	f.redact.Add(cmd.Flags(),
		"take out names, paths, the command line and the environment; with -o DIR write a redacted copy of "+
			"the run folder")
	f.judging.Add(cmd.Flags())
	return cmd
}

// reportPaths prints one report a path and returns the exit code of the first
// verdict that --fail-on names.
func reportPaths(std stdio, getenv func(string) string, f reportFlags, paths []string,
	im importer.Options) error {
	format, err := f.format.For(f.output)
	if err != nil {
		return err
	}
	fail, err := option.ParseFailOn(f.failOn)
	if err != nil {
		return err
	}
	judging, err := f.judging.Options()
	if err != nil {
		return err
	}
	if err := f.redact.Check(); err != nil {
		return err
	}
	if len(paths) > 1 && !output.ToStdout(f.output) {
		return usagef("-o takes one report, %d paths were given", len(paths))
	}
	redact := f.redact.Redactor(bundledWords()...)
	code := exitDone
	for _, path := range paths {
		run, err := answers.Open(path, im)
		if err != nil {
			return err
		}
		v, err := reportRun(std, getenv, f, format, redact, run, judging)
		if err != nil {
			return err
		}
		if code == exitDone {
			code = fail.Of(v)
		}
	}
	if code != exitDone {
		return &codeError{code}
	}
	return nil
}

// reportRun prints one report, or writes a redacted folder.
func reportRun(std stdio, getenv func(string) string, f reportFlags, format report.Format,
	redact *report.Redactor, run *record.Run, judging verdict.Options) (*verdict.Verdict, error) {
	if f.folder {
		return answers.RedactFolder(redact, run, f.output,
			answers.RedactOptions{Force: f.force, Judging: judging, Producer: producer(), Said: std.err})
	}
	if redact != nil {
		run = redact.Run(run)
	}
	v := verdict.Judge(run, judging)
	return v, sink(std, getenv, f.output, f.force).Write(format, run, v)
}

// sink is where a report goes: to stdout, or into the file of -o.
func sink(std stdio, getenv func(string) string, path string, force bool) answers.Sink {
	return answers.Sink{Out: std.out, Getenv: getenv, Path: path, Force: force, Producer: producer()}
}
