package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gpumem/gpumem/cmd/gpumem/answers"
	"github.com/gpumem/gpumem/cmd/gpumem/device"
	"github.com/gpumem/gpumem/cmd/gpumem/injection"
	"github.com/gpumem/gpumem/cmd/gpumem/naming"
	"github.com/gpumem/gpumem/cmd/gpumem/option"
	"github.com/gpumem/gpumem/cmd/gpumem/output"
	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/cmd/gpumem/screen"
	"github.com/gpumem/gpumem/cmd/gpumem/tty"
	"github.com/gpumem/gpumem/internal/secret"
	"github.com/gpumem/gpumem/probe/apple"
	"github.com/gpumem/gpumem/probe/scan"
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
	judging, err := f.judging.Options()
	if err != nil {
		return err
	}
	if f.alone {
		if err := alone(ctx, t); err != nil {
			return err
		}
	}
	live := screen.Recording{In: std.in, Out: std.out, Err: std.err, Getenv: getenv, Flags: f.screen,
		Judging: judging, Name: shownCommand(t), Producer: producer(),
		Foreign: t.workload == nil, Owned: true}
	progress := screen.NewProgress(std.err, t.name, f.quiet || live.KeepsTerminal() || !tty.Is(std.err))
	cfg, err := traceConfig(std, getenv, f, t, progress)
	if err != nil {
		return err
	}
	defer f.dropEmpty(cfg.Out)
	output.OutlivePipes()
	in := injection.New(f.injected(t))
	in.Into(&cfg, f.firstTouch && t.workload == nil)
	warnOfBundle(&cfg)
	chooseDevice(ctx, &f.workload, t, &cfg)
	gpu, err := traceGPU(ctx, f, t, &cfg)
	if err != nil {
		in.End()
		return err
	}
	unpublish, err := f.metrics.StartRun(std.err, cfg.Out, judging)
	if err != nil {
		in.End()
		gpu.End()
		return err
	}
	result, err := screen.Record(ctx, live, f.quiet, cfg, f.purging.Run)
	unpublish()
	progress.Clear()
	in.End()
	gpu.End()
	if err != nil {
		return startFailure(std, result, err)
	}
	answer := f.answer(std, getenv, std.err, format)
	answer.Short = true
	v, err := answers.Conclude(result.Dir, judging, producer(), answer.Print)
	result.Warnings = append(result.Warnings, in.Warnings()...)
	return afterRun(std, result, fail, v, err)
}

// traceGPU is trace for what run runs: bundled workloads on the soft device and
// on the host have nothing on a real one.
func traceGPU(ctx context.Context, f runFlags, t target, cfg *tracer.Config) (*option.GPUTrace, error) {
	// Apple's is real on macOS only; elsewhere it is the tests' fake.
	real := strings.HasPrefix(f.workload.device, device.CUDA) || f.workload.device == device.Apple &&
		runtime.GOOS == "darwin"
	if t.workload != nil && !real {
		return &option.GPUTrace{}, nil
	}
	return f.gpu.Trace(ctx, cfg)
}

// injected is what goes into a target; a bundled workload tells everything by itself.
func (f *runFlags) injected(t target) injection.Options {
	o := injection.Options{Mode: f.inject, Purge: f.purge, Sites: f.sites, Profile: f.profile}
	if t.workload == nil {
		o.Command = t.command
	}
	return o
}

// afterRun is how gpumem ends once the program has ended: with the program's own
// code, whatever became of the answer. What could not be written is said and
// changes nothing. Only where the program ended well does --fail-on count: with
// the code of the verdict, or with 1 when there is no verdict (v is nil, and err
// says why), since a check that could not be made has not been passed.
func afterRun(std stdio, result tracer.Result, fail option.FailOn, v *verdict.Verdict, err error) error {
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
	if code := fail.Of(v); code != exitDone {
		return &codeError{code}
	}
	return nil
}

// answer is how the verdict is printed, to stdout or stderr.
func (f *runFlags) answer(std stdio, getenv func(string) string, to *os.File,
	format report.Format) answers.Answer {
	return answers.Answer{Sink: sink(std, getenv, f.output, f.force), To: to, Err: std.err, Format: format,
		Verbose: f.verbose}
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
	progress *screen.Progress) (tracer.Config, error) {
	out := f.out
	if out == "" {
		var err error
		if out, err = record.NewFolder(folderStem(recordingName(t), getenv), time.Now()); err != nil {
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
		Interval: f.interval, Calm: f.calmInterval(t.given), Keep: int64(f.keep), Purge: f.purge,
		Progress: progress.Called(),
	}, nil
}

// dropEmpty removes the folder that was made for a run that did not take place.
// One with something in it stays.
func (f *runFlags) dropEmpty(dir string) {
	if f.out == "" {
		_ = os.Remove(dir)
	}
}

// recordingName is the script of a program that we start, else what the target is called.
func recordingName(t target) string {
	if t.workload == nil && len(t.command) > 0 {
		return naming.Recording(t.command)
	}
	return naming.WithoutEnding(t.name)
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

// shownCommand is a target as a person typed it.
func shownCommand(t target) string {
	words := t.shown
	if t.workload != nil && len(words) > 2 {
		words = words[2:] // gpumem run
	}
	return plain.Shown(strings.Join(secret.Args(words), " "))
}

// toolingEnv is what a process's environment switches on that makes memory
// grow without a leak, for run.json; nil when that is nothing, or not told.
func toolingEnv(p *scan.Process) map[string]string {
	var env map[string]string
	for _, tool := range p.Tooling {
		if env == nil {
			env = map[string]string{}
		}
		env[tool.Variable] = tool.Value
	}
	return env
}

// warnOfBundle has a run warn of what the bundle of its program switches on: no
// variable of the environment, which a run records by itself, tells that.
func warnOfBundle(cfg *tracer.Config) {
	program, err := exec.LookPath(cfg.Command[0])
	if err != nil {
		return // the tracer says so
	}
	if real, err := filepath.EvalSymlinks(program); err == nil {
		program = real
	}
	for _, tool := range apple.BundleTooling(program) {
		text := fmt.Sprintf("the program runs with %s; what that keeps is no leak of the program", tool)
		cfg.Watch = append(cfg.Watch, func(_ context.Context, _ int, emit func(record.Event)) {
			emit(record.Event{Kind: record.KindWarning, Text: text})
		})
	}
}
