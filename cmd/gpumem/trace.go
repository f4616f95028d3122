package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/report"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer"
	"github.com/gpumem/gpumem/tracer/agent"
	"github.com/gpumem/gpumem/tracer/record"
)

// runTarget traces a program, judges the run, completes its folder and prints
// the verdict. The program's exit code comes first, --fail-on second.
func runTarget(ctx context.Context, std stdio, getenv func(string) string, f runFlags, t target) error {
	format, fail, err := f.check()
	if err != nil {
		return err
	}
	judging, err := f.judging.options()
	if err != nil {
		return err
	}
	if f.alone {
		if err := alone(ctx, t); err != nil {
			return err
		}
	}
	progress := newProgress(std.err, t.name, f.quiet || !isTerminal(std.err))
	cfg, err := traceConfig(std, getenv, f, t, progress)
	if err != nil {
		return err
	}
	defer f.dropEmpty(cfg.Out)
	outlivePipes()
	in := inject(f.inject, f.sites, t)
	in.into(&cfg, f.firstTouch && t.workload == nil)
	warnOfBundle(&cfg)
	chooseDevice(ctx, &f.workload, t, &cfg)
	gpu, err := traceGPU(ctx, f, t, &cfg)
	if err != nil {
		in.end()
		return err
	}
	unpublish, err := f.metrics.publishRun(std, cfg.Out, judging)
	if err != nil {
		in.end()
		gpu.end()
		return err
	}
	screen := screened{std: std, getenv: getenv, flags: f.screen, judging: judging, name: shownCommand(t),
		foreign: t.workload == nil, owned: true}
	result, err := onScreen(ctx, screen, f.quiet, cfg, tracer.Run)
	unpublish()
	progress.clear()
	in.end()
	gpu.end()
	if err != nil {
		return startFailure(std, result, err)
	}
	v, err := conclude(std, getenv, result.Dir, judging, func(run *record.Run, v *verdict.Verdict) error {
		return printAnswer(std, getenv, f, format, run, v)
	})
	result.Warnings = append(result.Warnings, in.warnings...)
	return afterRun(std, result, fail, v, err)
}

// afterRun is how gpumem ends once the program has ended: with the program's own
// code, whatever became of the answer. What could not be written is said and
// changes nothing. Only where the program ended well does --fail-on count: with
// the code of the verdict, or with 1 when there is no verdict (v is nil, and err
// says why), since a check that could not be made has not been passed.
func afterRun(std stdio, result tracer.Result, fail failOn, v *verdict.Verdict, err error) error {
	for _, line := range lines(err) {
		fmt.Fprintf(std.err, "gpumem: %s\n", line)
	}
	for _, warning := range result.Warnings {
		if v == nil || !slices.Contains(v.Warnings, warning) { // it could not be recorded
			fmt.Fprintf(std.err, "gpumem: warning: %s\n", warning)
		}
	}
	switch {
	case result.ExitCode != 0 && !result.Left:
		return &codeError{result.ExitCode}
	case v == nil && len(fail) > 0:
		return errors.New("--fail-on: there is no verdict to check")
	case v == nil:
		return nil
	}
	if code := fail.of(v); code != exitDone {
		return &codeError{code}
	}
	return nil
}

// lines are the lines of an error, none without one: joined errors have several.
func lines(err error) []string {
	if err == nil {
		return nil
	}
	return strings.Split(err.Error(), "\n")
}

// traceConfig is what a recording is made with. It makes the run folder where no
// name was given, so that no other run takes the same one.
func traceConfig(std stdio, getenv func(string) string, f runFlags, t target,
	progress *progress) (tracer.Config, error) {
	out := f.out
	if out == "" {
		var err error
		if out, err = record.NewFolder(folderStem(t.name, getenv), time.Now()); err != nil {
			return tracer.Config{}, err
		}
	}
	meta := record.Meta{Command: t.shown, Flags: t.given, Versions: map[string]string{"gpumem": version()}}
	if t.workload != nil {
		meta.Workload = t.workload.Name
	}
	return tracer.Config{
		Command: t.command, Out: out, Force: f.force || f.out == "", Meta: meta,
		Stdin: std.in, Stdout: std.out, Stderr: std.err,
		Interval: f.interval, Purge: f.purge, Progress: progress.show,
	}, nil
}

// dropEmpty removes the folder that was made for a run that did not take place.
// One with something in it stays.
func (f *runFlags) dropEmpty(dir string) {
	if f.out == "" {
		_ = os.Remove(dir)
	}
}

// folderStem is what a run's folder is called after: the program, and the rank
// where a launcher starts us once for each, all in the same second.
func folderStem(name string, getenv func(string) string) string {
	if rank := agent.Rank(getenv); rank != nil {
		return fmt.Sprintf("%s-rank%d", name, *rank)
	}
	return name
}

// startFailure says why a run did not take place. A program that could not be
// started ends with a shell's code for it, and leaves a valid run folder.
func startFailure(std stdio, result tracer.Result, err error) error {
	var start *tracer.StartError
	switch {
	case errors.As(err, &start):
		fmt.Fprintf(std.err, "gpumem: %v\n", err)
		return &codeError{start.Code}
	case errors.Is(err, record.ErrExists):
		return fmt.Errorf("%w; write into it with --force, or name another with --out", err)
	}
	return err
}

// conclude reads a run folder back, judges it, and adds verdict.json,
// report.html and, when sites are known, allocations.pb.gz. print shows the
// answer; the folder is completed also when that fails, and the verdict holds
// also when neither can be written.
func conclude(
	std stdio, getenv func(string) string, dir string, judging verdict.Options,
	print func(*record.Run, *verdict.Verdict) error,
) (v *verdict.Verdict, err error) {
	defer func() {
		if p := recover(); p != nil { // the program's exit code is not lost for a defect of ours
			err = errors.Join(err,
				fmt.Errorf("internal error of gpumem while judging %s: %v; please report it", dir, p))
		}
	}()
	run, err := record.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("read the run back: %w", err)
	}
	v = verdict.Judge(run, judging)
	return v, errors.Join(addReports(dir, run, v), print(run, v))
}

// addReports writes the files of a run folder that a verdict fills. One that
// cannot be written keeps none of the others back.
func addReports(dir string, run *record.Run, v *verdict.Verdict) error {
	var failed []error
	for _, file := range []struct {
		name   string
		format report.Format
	}{{record.FileVerdict, report.JSON}, {record.FileReport, report.HTML},
		{record.FileAllocations, report.PProf}} {
		o := report.Options{Producer: "gpumem " + version()}
		err := record.WriteFile(dir, file.name, func(w io.Writer) error {
			return report.Write(w, file.format, run, v, o)
		})
		if err != nil && !errors.Is(err, report.ErrNoSites) {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// printAnswer prints the verdict of a run: on stderr, since stdout is the
// traced program's, or into the file of -o.
func printAnswer(std stdio, getenv func(string) string, f runFlags, format report.Format, run *record.Run,
	v *verdict.Verdict) error {
	if f.output != "" {
		return printReport(std, getenv, f.output, f.force, format, run, v)
	}
	if format == report.Text && failedAtOnce(run, v) {
		_, err := fmt.Fprintf(std.err,
			"gpumem: the program failed after %s, too soon to be judged\nrun folder: %s\n",
			plain.Plural(run.Samples.Len(), "sample", "samples"), run.Path)
		return err
	}
	o := report.Options{Producer: "gpumem " + version(), Color: wantColor(std.err, getenv),
		Width: textWidth(std.err)}
	if err := report.Write(std.err, format, run, v, o); err != nil {
		return err
	}
	_, err := fmt.Fprintf(std.err, "\nrun folder: %s  (open %s)\n", run.Path,
		filepath.Join(run.Path, record.FileReport))
	return err
}

// failedAtOnce reports a program that failed before anything could be learnt: a
// page about it would hide what it said itself.
func failedAtOnce(run *record.Run, v *verdict.Verdict) bool {
	const (
		fewest  = 12               // samples, without which the engine judges nothing
		startup = 10 * time.Second // in which a program imports what it needs
	)
	m := run.Meta
	if failed := m.Signal != "" || m.ExitCode != nil && *m.ExitCode != 0; !failed ||
		v.Verdict != verdict.Undecided {
		return false
	}
	if v.Window.Samples < fewest {
		return true
	}
	worked := v.Window.Steps > 0 || slices.ContainsFunc(run.Samples.Column(record.ColGPU),
		func(bytes float64) bool { return bytes > 0 })
	return !worked && m.End != nil && m.End.Sub(m.Start) < startup
}

// progress is the line that a person watches while a program is traced.
type progress struct {
	w     *os.File
	name  string
	off   bool
	last  time.Time
	shown bool
}

func newProgress(w *os.File, name string, off bool) *progress {
	return &progress{w: w, name: name, off: off}
}

// show redraws the line, at most five times a second. The tracer calls it from
// one goroutine.
func (p *progress) show(s tracer.Progress) {
	if p.off || time.Since(p.last) < 200*time.Millisecond {
		return
	}
	p.last, p.shown = time.Now(), true
	line := fmt.Sprintf("gpumem: %s  %s  %d samples", p.name, s.Elapsed.Round(100*time.Millisecond), s.Rows)
	for _, c := range []struct{ column, label string }{
		{record.ColStep, "step"}, {record.ColRSS, "rss"}, {record.ColGPU, "gpu"},
		{record.ColLive, string(record.AccountLive)}, {record.ColIdle, string(record.AccountIdle)},
	} {
		for _, cell := range s.Row.Cells {
			if cell.Column == c.column {
				line += "  " + c.label + " " + progressValue(c.column, cell.Value)
			}
		}
	}
	// A line that wraps could not be drawn over.
	fmt.Fprintf(p.w, "\r\x1b[K%s", ansi.Truncate(line, max(terminalWidth(p.w)-1, 20), ""))
}

func progressValue(column string, v int64) string {
	if column == record.ColStep {
		return fmt.Sprint(v)
	}
	return fmt.Sprintf("%.1f MiB", float64(v)/(1<<20))
}

// clear takes the line away.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
