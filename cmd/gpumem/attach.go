package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpumem/gpumem/cmd/gpumem/diagnosis"
	"github.com/gpumem/gpumem/cmd/gpumem/naming"
	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/probe/scan"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer"
	"github.com/gpumem/gpumem/tracer/capture"
	"github.com/gpumem/gpumem/tracer/record"
)

// attachFlags are the flags of `gpumem attach`: those of run that do not need
// the program's help, and how long.
type attachFlags struct {
	run     runFlags
	length  time.Duration
	partial bool
	given   map[string]string // the flags of run that were given
}

func newAttachCommand(std stdio, getenv func(string) string) *cobra.Command {
	f := attachFlags{run: defaultRunFlags()}
	cmd := &cobra.Command{
		Use:   "attach PID",
		Short: "Record a program that runs already and say whose memory grows",
		Long: `attach samples a running program and its descendants from outside, until it
ends, --for is over or Ctrl-C; then it judges what it saw and writes a run
folder, as run does. The program is not changed and runs on. What only the
program itself can tell (its pool, its steps) is not in such a recording: that
device memory grows is seen, whose it is mostly not. --inject ebpf puts probes
on the CUDA driver and tells what the program allocates there from then on.`,
		Example: `  gpumem attach 4242
  gpumem attach 4242 --for 60s --json
  sudo gpumem attach 4242 --inject ebpf
  gpumem attach $(pgrep -n trainer) --for 10m --fail-on any`,
		Args: exactly(1, "one PID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.given = givenFlags(cmd.Flags())
			return attach(cmd.Context(), std, getenv, f, args[0])
		},
	}
	f.run.inject = "none"
	f.run.addRecording(cmd.Flags())
	cmd.Flags().StringVar(&f.run.inject, "inject", f.run.inject,
		"ebpf: probes on the CUDA driver it uses, which tell what it allocates from now on (root); none")
	cmd.Flags().BoolVar(&f.run.firstTouch, "first-touch", f.run.firstTouch,
		"when host memory keeps growing, sample whose code first touches the new pages")
	cmd.Flags().DurationVar(&f.length, "for", 0,
		"how long to record (default until the program ends or Ctrl-C)")
	cmd.Flags().BoolVar(&f.partial, "partial", false, "also of another user: record what may be read of it")
	return cmd
}

// attach records a process and prints the verdict on stdout, which here is
// ours.
func attach(ctx context.Context, std stdio, getenv func(string) string, f attachFlags, text string) error {
	format, fail, err := f.run.check()
	if err != nil {
		return err
	}
	judging, err := f.run.judging.options()
	if err != nil {
		return err
	}
	if f.run.inject != "none" && f.run.inject != string(capture.ModeEBPF) {
		return usagef("--inject %s: into a program that runs already go only probes: ebpf, or none",
			f.run.inject)
	}
	if f.length < 0 {
		return usagef("--for %s: must not be negative", f.length)
	}
	p, err := f.target(text)
	if err != nil {
		return err
	}
	t := target{name: naming.Program(&p), command: p.Command, shown: p.Command, given: f.given}
	ctx, stop := signal.NotifyContext(ctx, endingSignals()...)
	defer stop()
	if f.length > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.length)
		defer cancel()
	}
	progress := newProgress(std.err, t.name, f.run.quiet || !isTerminal(std.err))
	cfg, err := traceConfig(std, getenv, f.run, t, progress)
	if err != nil {
		return err
	}
	defer f.run.dropEmpty(cfg.Out)
	cfg.Meta.Env = toolingEnv(&p)
	if runtime.GOOS == "linux" {
		// The tracer reads it itself, whole; what it masks in it stands in run.json.
		cfg.Command, cfg.Meta.Command = nil, nil
	}
	gpu, err := f.run.gpu.trace(ctx, &cfg)
	if err != nil {
		return err
	}
	in := f.probes()
	in.into(&cfg, f.run.firstTouch)
	unpublish, err := f.run.metrics.publishRun(std, cfg.Out, judging)
	if err != nil {
		gpu.end()
		return err
	}
	screen := screened{std: std, getenv: getenv, flags: f.run.screen, judging: judging, name: t.name,
		foreign: true}
	result, err := onScreen(ctx, screen, f.run.quiet, cfg,
		func(ctx context.Context, cfg tracer.Config) (tracer.Result, error) {
			return tracer.Attach(ctx, p.PID, cfg)
		})
	unpublish()
	progress.clear()
	in.end()
	gpu.end()
	stop() // a second Ctrl-C ends us
	if err != nil {
		return f.failure(std, &p, result, err)
	}
	return f.conclude(std, getenv, &p, result, judging, func(run *record.Run, v *verdict.Verdict) error {
		if err := printReport(std, getenv, f.run.output, f.run.force, format, run, v); err != nil {
			return err
		}
		if d := diagnosis.Unowned(v); d != nil {
			fmt.Fprintf(std.err, "\n%s.\nnext: %s\n", diagnosis.UnownedText(d),
				diagnosis.UnownedNext(livePID(&p), plain.Shown(naming.Command(&p))))
		}
		_, err := fmt.Fprintf(std.err, "\nrun folder: %s  (open %s)\n", run.Path,
			filepath.Join(run.Path, record.FileReport))
		return err
	}, fail)
}

// probes are what looks into the running program without changing it.
func (f *attachFlags) probes() *injection {
	in := &injection{mode: f.run.inject}
	if f.run.inject == string(capture.ModeEBPF) {
		in.driver = &driverCapture{mode: capture.ModeEBPF}
	}
	return in
}

// livePID is the process's PID while it runs, else 0.
func livePID(p *scan.Process) int {
	now, err := scan.One("", p.PID)
	if err != nil || now.Start != p.Start || now.State == scan.Zombie {
		return 0
	}
	return p.PID
}

// conclude judges the recording. One that saw next to nothing is a failure, as
// nothing was learnt.
func (f *attachFlags) conclude(std stdio, getenv func(string) string, p *scan.Process, result tracer.Result,
	judging verdict.Options, print func(*record.Run, *verdict.Verdict) error, fail failOn) error {
	const leastRows = 3
	if s := result.Meta.Sampling; s != nil && s.Rows < leastRows {
		return fmt.Errorf(
			"process %d (%s) ended after %s: too soon to be judged; run it under gpumem: gpumem run -- %s",
			p.PID, naming.Program(p), plain.Plural(int(s.Rows), "sample", "samples"),
			plain.Shown(naming.Command(p)))
	}
	v, err := conclude(std, getenv, result.Dir, judging, print)
	if err != nil {
		return err
	}
	for _, warning := range result.Warnings {
		fmt.Fprintf(std.err, "gpumem: warning: %s\n", warning)
	}
	if code := fail.of(v); code != exitDone {
		return &codeError{code}
	}
	return nil
}

// failure says why the process could not be joined.
func (f *attachFlags) failure(std stdio, p *scan.Process, result tracer.Result, err error) error {
	switch {
	case errors.Is(err, probe.ErrExited):
		return fmt.Errorf("process %d (%s) has just ended", p.PID, naming.Program(p))
	case errors.Is(err, os.ErrPermission):
		return unreadable(p, os.Geteuid())
	}
	return startFailure(std, result, err)
}

// target is the process to attach to, or the one line why not.
func (f *attachFlags) target(text string) (scan.Process, error) {
	pid, err := parsePID(text)
	if err != nil {
		return scan.Process{}, err
	}
	if pid == os.Getpid() {
		return scan.Process{}, usagef("%d is gpumem itself", pid)
	}
	p, err := scan.One("", pid)
	if err != nil {
		return p, pidError(err)
	}
	switch {
	case p.State == scan.Zombie:
		return p, fmt.Errorf("process %d (%s) is a zombie: it has ended, and its parent %d has not asked how",
			pid, plain.Shown(p.Name), p.Parent)
	case p.Hidden && !f.partial:
		return p, unreadable(&p, os.Geteuid())
	}
	return p, nil
}

// unreadable is the error for a process that the user euid may not look into.
// Who is told to become root must not be root already.
func unreadable(p *scan.Process, euid int) error {
	who := fmt.Sprintf("process %d (%s)", p.PID, naming.Program(p))
	const partial = "record what is public of it with --partial"
	switch euid {
	case 0:
		return fmt.Errorf("%s belongs to %s: the system does not let even root read its files here; "+
			"in a container, start that with the capability SYS_PTRACE, or %s",
			who, plain.Shown(p.Owner), partial)
	case p.UID:
		return fmt.Errorf("%s is yours, but the system lets nobody but root read its files "+
			"(it may have had more rights than you); run gpumem as root, or %s", who, partial)
	}
	return fmt.Errorf(
		"%s belongs to %s: its files may not be read; run gpumem as that user or as root, or %s",
		who, plain.Shown(p.Owner), partial)
}

// endingSignals end a recording that joined a program: also the loss of the
// terminal, unless that is ignored, as under nohup.
func endingSignals() []os.Signal {
	list := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		list = append(list, syscall.SIGHUP)
	}
	return list
}

// parsePID reads a pid of the command line.
func parsePID(text string) (int, error) {
	pid, err := strconv.Atoi(text)
	if err != nil || pid <= 0 || pid > 1<<31-1 {
		return 0, usagef("%q is no PID", text)
	}
	return pid, nil
}

// pidError puts the refusal of a pid into the words of the command line: a
// thread's is a slip of the user's, a process that is not there a failure.
func pidError(err error) error {
	var thread *scan.ThreadError
	switch {
	case errors.As(err, &thread) && thread.Of != 0:
		return usagef("%v; give %d", err, thread.Of)
	case errors.As(err, &thread):
		return usagef("%v", err)
	}
	return err
}
