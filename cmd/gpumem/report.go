package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gpumem/gpumem/report"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/importer"
	"github.com/gpumem/gpumem/tracer/record"
)

// reportFlags say how a verdict is reached and where it is printed.
type reportFlags struct {
	format  string
	json    bool
	output  string
	force   bool
	failOn  []string
	judging judgingFlags
	redact  redactFlags
	folder  bool // a redacted copy of the whole run folder is wanted
}

// addOutput defines the flags of where and how a command prints.
func (f *reportFlags) addOutput(flags *pflag.FlagSet, formats string) {
	flags.StringVar(&f.format, "format", "text", formats)
	flags.BoolVar(&f.json, "json", false, "the same as --format json")
	flags.StringVarP(&f.output, "output", "o", "", outputHelp)
	flags.BoolVar(&f.force, "force", false, "overwrite the output file")
	addFailOn(flags, &f.failOn)
}

func newReportCommand(std stdio, getenv func(string) string) *cobra.Command {
	f := reportFlags{judging: defaultJudgingFlags()}
	var stepsPerLine int64
	cmd := &cobra.Command{
		Use:   "report PATH…",
		Short: "Answer from a run folder, a CSV of samples or a log of another tool",
		Long: `report judges what was recorded: a run folder, a bare CSV with any subset of
the columns of samples.csv, or a recording of another tool, as it is or
compressed with gzip, known by its content (gpumem import says more):

` + kindsText() + `
A pipe may stand for a file, as in gpumem report <(zcat samples.csv.gz). Of a
run folder only regular files are read: a pipe, a device or a link that leads
out of the folder is refused.

--redact takes out the host's name, users, paths, the command line, the
environment and the names of modules and functions; each word is replaced by the
same letters wherever it stands. With -o it writes the whole run folder anew, to
be shared; with --format too, or without -o, one report.`,
		Example: `  gpumem report gpumem-train-20261120T120000Z
  gpumem report samples.csv --format json
  gpumem report mem_trace.log --steps-per-line 1500
  gpumem report DIR --format html -o report.html
  gpumem report DIR --redact -o DIR-to-share`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("report takes a run folder, a CSV or a log; see gpumem report --help")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			f.folder = f.redact.on && !toStdout(f.output) && !cmd.Flags().Changed("format") && !f.json
			return reportPaths(std, getenv, f, args, importer.Options{StepsPerLine: stepsPerLine})
		},
	}
	f.addOutput(cmd.Flags(), "text, json, csv, html, markdown or pprof")
	cmd.Flags().Int64Var(&stepsPerLine, "steps-per-line", 0, "steps between two Memory: lines of a TL log")
	f.redact.add(cmd.Flags(),
		"take out names, paths, the command line and the environment; with -o DIR write a redacted copy of "+
			"the run folder")
	f.judging.add(cmd.Flags())
	return cmd
}

// reportPaths prints one report a path and returns the exit code of the first
// verdict that --fail-on names.
func reportPaths(std stdio, getenv func(string) string, f reportFlags, paths []string,
	im importer.Options) error {
	format, err := parseFormat(f.format, f.json)
	if err != nil {
		return err
	}
	fail, err := parseFailOn(f.failOn)
	if err != nil {
		return err
	}
	judging, err := f.judging.options()
	if err != nil {
		return err
	}
	if err := f.redact.check(); err != nil {
		return err
	}
	if len(paths) > 1 && !toStdout(f.output) {
		return usagef("-o takes one report, %d paths were given", len(paths))
	}
	redact := f.redact.redactor()
	code := exitDone
	for _, path := range paths {
		run, err := openRun(path, im)
		if err != nil {
			return err
		}
		v, err := reportRun(std, getenv, f, format, redact, run, judging)
		if err != nil {
			return err
		}
		if code == exitDone {
			code = fail.of(v)
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
		return redactFolder(std, redact, run, f.output, f.force, judging)
	}
	if redact != nil {
		run = redact.Run(run)
	}
	v := verdict.Judge(run, judging)
	return v, printReport(std, getenv, f.output, f.force, format, run, v)
}

// openRun reads a run folder, a CSV, or a recording of another tool. The error
// for what is none of these says what there is to give.
func openRun(path string, im importer.Options) (*record.Run, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("%s does not exist; give a run folder, a CSV or a log", path)
	case err != nil:
		return nil, err
	case info.IsDir():
		run, err := record.Open(path)
		if errors.Is(err, record.ErrNotRun) {
			return nil, fmt.Errorf("%s is no run folder: neither run.json nor samples.csv is in it", path)
		}
		return run, err
	}
	return openFile(path, im)
}

// openFile reads a recording of another tool, or samples that lie in no run
// folder. It opens the file once: what was read of a pipe cannot be read again.
func openFile(path string, im importer.Options) (*record.Run, error) {
	in, err := record.OpenInput(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	// The importer looks at what this buffer holds, and takes nothing of a file
	// that it does not know.
	head := bufio.NewReaderSize(in, importer.SniffLen)
	magic, _ := head.Peek(len(gzipMagic))
	packed := string(magic) == gzipMagic
	run, err := importer.ReadWith(head, path, im)
	if err == nil || !errors.Is(err, importer.ErrUnknownFormat) {
		return run, err
	}
	if packed {
		return nil, fmt.Errorf("%w (%s); a CSV of samples is read unpacked",
			err, strings.Join(kindNames(), ", "))
	}
	if in.Rewind() {
		return openCSV(in, path)
	}
	return openCSV(head, path)
}

const gzipMagic = "\x1f\x8b"

// openCSV reads samples that lie in no run folder.
func openCSV(in io.Reader, path string) (*record.Run, error) {
	run, err := record.FromCSV(in, path)
	switch {
	case errors.Is(err, record.ErrNotSamples):
		return nil, fmt.Errorf("%w, and not a recording of a known tool (%s)",
			err, strings.Join(kindNames(), ", "))
	case err != nil:
		return nil, err
	case len(run.Samples.Names()) == 0:
		return nil, fmt.Errorf("%s is empty", path)
	case run.Samples.Len() == 0:
		return nil, fmt.Errorf("%s holds a header and no samples", path)
	}
	return run, nil
}

func importFile(path string, im importer.Options) (*record.Run, error) {
	in, err := record.OpenInput(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return importer.ReadWith(in, path, im)
}

// printReport writes one report to stdout or to the file of -o.
func printReport(std stdio, getenv func(string) string, output string, force bool, format report.Format,
	run *record.Run, v *verdict.Verdict) error {
	o := report.Options{Producer: "gpumem " + version()}
	if toStdout(output) {
		if format == report.PProf && isTerminal(std.out) {
			return usagef("a pprof profile is no text: name a file with -o")
		}
		o.Color, o.Width = wantColor(std.out, getenv), textWidth(std.out)
		return report.Write(std.out, format, run, v, o)
	}
	return writeOutput(std, output, force, func(w io.Writer) error {
		return report.Write(w, format, run, v, o)
	})
}
