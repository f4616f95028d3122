package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gpumem/gpumem/cmd/gpumem/answers"
	"github.com/gpumem/gpumem/cmd/gpumem/diagnosis"
	"github.com/gpumem/gpumem/cmd/gpumem/injection"
	"github.com/gpumem/gpumem/cmd/gpumem/naming"
	"github.com/gpumem/gpumem/cmd/gpumem/option"
	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/cmd/gpumem/screen"
	"github.com/gpumem/gpumem/cmd/gpumem/tty"
	"github.com/gpumem/gpumem/cmd/gpumem/usage"
	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/probe/scan"
	"github.com/gpumem/gpumem/report"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer"
	"github.com/gpumem/gpumem/tracer/agent/python"
	"github.com/gpumem/gpumem/tracer/record"
)

// attachFlags are the flags of `gpumem attach`: those of run that do not need
// the program's help, and how long.
type attachFlags struct {
	run     runFlags
	length  time.Duration
	partial bool
	all     bool
	resume  string            // run folder to go on in
	given   map[string]string // the flags of run that were given
}

const attachHelp = `attach records a running program and its descendants until it ends, until --for
is over, or until Ctrl-C. Then it judges what it saw and writes a run folder, as
run does.

An agent goes into a Python program, tells what only the program knows (its pool,
its steps, who holds what), and goes out again at the end. The program stands
still for some milliseconds at both, and runs on unchanged. Where no agent can go
in, one line says why, and the program is looked at from outside only: that shows
whether device memory grows, and mostly not whose it is.

As root, probes on the CUDA driver tell what any program and its libraries
allocate there from then on; what was allocated before is known as a sum.
--inject python leaves the probes out, --inject ebpf the agent, and --inject
none looks from outside only.

When gpumem itself was ended, --resume continues in the folder that it left, of
attach or of run, as long as the process lives: one run, with a gap.`

func newAttachCommand(std stdio, getenv func(string) string) *cobra.Command {
	f := attachFlags{run: defaultRunFlags()}
	cmd := &cobra.Command{
		Use:   "attach PID | attach --all",
		Short: "Record a program that runs already and say whose memory grows",
		Long:  attachHelp,
		Example: `  gpumem attach 4242
  gpumem attach 4242 --for 60s --json
  gpumem attach 4242 --for 60s --purge
  gpumem attach --all --for 60s
  gpumem attach 4242 --resume gpumem-train-20261122T101500Z
  sudo gpumem attach 4242                     # with probes on the driver
  gpumem attach $(pgrep -n trainer) --for 10m --fail-on any`,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.all && len(args) > 0 {
				return usagef("attach --all takes no PID")
			}
			if f.all {
				return nil
			}
			return usage.Exactly(1, "one PID, that of the program")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			f.given = option.Given(cmd.Flags())
			if f.all {
				return attachToAll(cmd.Context(), std, getenv, f)
			}
			return attachTo(cmd.Context(), std, getenv, f, args[0])
		},
	}
	f.add(cmd.Flags())
	return cmd
}

func (f *attachFlags) add(flags *pflag.FlagSet) {
	f.run.inject = injection.Auto
	f.run.addRecording(flags)
	flags.StringVar(&f.run.inject, "inject", f.run.inject,
		"what goes into it so that it tells what it holds: python (the Python agent), ebpf (probes on the "+
			"CUDA driver it uses, as root), auto (both, as far as they are permitted) or none")
	flags.BoolVar(&f.run.purge, "purge", f.run.purge,
		"at the end collect, purge and trim, and measure what the operating system gets back")
	flags.BoolVar(&f.run.sites, "sites", f.run.sites,
		"record where live memory is asked for from now on (PyTorch's own history; costs about 3 µs an "+
			"allocation)")
	f.run.purging.Add(flags)
	injection.AddProfile(flags, &f.run.profile)
	flags.BoolVar(&f.run.firstTouch, "first-touch", f.run.firstTouch,
		"when host memory keeps growing, sample whose code first touches the new pages")
	flags.DurationVar(&f.length, "for", 0,
		"how long to record (default until the program ends or Ctrl-C)")
	flags.BoolVar(&f.partial, "partial", false,
		"also a process of another user: record what may be read of it")
	flags.StringVar(&f.resume, "resume", "",
		"continue in the run folder of this process that an earlier gpumem, killed or ended, has left")
	flags.BoolVar(&f.all, "all", false,
		"every process that uses a GPU and may be attached to, each into a run folder of its own")
}

// check refuses what could not be done at the end, before anything is done.
func (f *attachFlags) check() (report.Format, option.FailOn, error) {
	if f.resume != "" {
		if f.run.out != "" || f.all {
			return "", nil, usagef("--resume FOLDER names the run folder of one process: leave out " +
				"--out and --all")
		}
		if err := checkResumed(f.resume); err != nil {
			return "", nil, err
		}
		f.run.out = f.resume
	}
	format, fail, err := f.run.check()
	if err != nil {
		return "", nil, err
	}
	if !slices.Contains(injection.AttachModes(), f.run.inject) {
		return "", nil, usagef("--inject %s: gpumem attach takes auto, python, ebpf or none",
			f.run.inject)
	}
	if f.length < 0 {
		return "", nil, usagef("--for %s: must not be negative", f.length)
	}
	return format, fail, nil
}

// attachTo records a process and prints the verdict on stdout, which here is
// ours.
func attachTo(ctx context.Context, std stdio, getenv func(string) string, f attachFlags, text string) error {
	format, fail, err := f.check()
	if err != nil {
		return err
	}
	judging, err := f.run.judging.Options()
	if err != nil {
		return err
	}
	p, err := f.target(text)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, endingSignals()...)
	defer stop()
	if f.length > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.length)
		defer cancel()
	}
	result, err := f.record(ctx, std, getenv, &p, judging)
	stop() // a second Ctrl-C ends us
	if err != nil {
		return f.failure(std, &p, result, err)
	}
	injection.TellStays(std.err, result.Stays)
	answer := f.run.answer(std, getenv, std.out, format)
	answer.After = func(v *verdict.Verdict) {
		tellRestart(std.err, v, livePID(&p) != 0, time.Now())
		if d := diagnosis.Unowned(v); d != nil {
			fmt.Fprintf(std.err, "\n%s.\nnext: %s\n\n", diagnosis.UnownedText(d),
				diagnosis.OwnedBy(livePID(&p), plain.Shown(naming.Command(&p))))
		}
	}
	v, err := f.conclude(&p, result, judging, answer.Print)
	if err != nil {
		return err
	}
	var said []string
	if format == report.Text && f.run.output == "" && tty.Is(std.out) {
		said = v.Warnings
	}
	tellWarnings(std.err, result.Warnings, said)
	if code := fail.Of(v); code != exitDone {
		return &codeError{code}
	}
	return nil
}

// record records a process until ctx is done or it ends.
func (f *attachFlags) record(ctx context.Context, std stdio, getenv func(string) string, p *scan.Process,
	judging verdict.Options) (tracer.Result, error) {
	t := target{name: naming.Program(p), command: p.Command, shown: p.Command, given: f.given}
	progress := screen.NewProgress(std.err, t.name, f.run.quiet || !tty.Is(std.err))
	cfg, err := traceConfig(std, getenv, f.run, t, progress)
	if err != nil {
		return tracer.Result{}, err
	}
	cfg.Resume = f.resume != ""
	defer f.run.dropEmpty(cfg.Out)
	cfg.Meta.Env = toolingEnv(p)
	if runtime.GOOS == "linux" {
		// The tracer reads it itself, whole; what it masks in it stands in run.json.
		cfg.Command, cfg.Meta.Command = nil, nil
	}
	gpu, err := f.run.gpu.Trace(ctx, &cfg)
	if err != nil {
		return tracer.Result{}, err
	}
	defer gpu.End()
	f.enter(&cfg)
	consent(std, *f, p.PID, t.name)
	in := injection.Probes(f.run.inject)
	in.Into(&cfg, f.run.firstTouch)
	unpublish, err := f.run.metrics.StartRun(std.err, cfg.Out, judging)
	if err != nil {
		return tracer.Result{}, err
	}
	live := screen.Recording{In: std.in, Out: std.out, Err: std.err, Getenv: getenv, Flags: f.run.screen,
		Judging: judging, Name: t.name, Producer: producer(), Foreign: true}
	result, err := screen.Record(ctx, live, f.run.quiet, cfg,
		func(ctx context.Context, cfg tracer.Config) (tracer.Result, error) {
			return f.run.purging.Attach(ctx, p.PID, cfg)
		})
	unpublish()
	progress.Clear()
	in.End()
	return result, err
}

// enter has the Python agent go into the program, if there may be one.
func (f *attachFlags) enter(cfg *tracer.Config) {
	if f.run.inject != injection.Auto && f.run.inject != "python" {
		return
	}
	profile, _ := injection.ProfileSetting(f.run.profile) // it was checked before
	late := python.Late{Interval: f.run.interval, Sites: f.run.sites, Profile: profile}
	if cfg.GPU != nil {
		late.Settle = injection.SettleOfGPU
	}
	cfg.Enter = injection.EnterPython(late, f.run.inject == "python")
}

// consent says on a terminal what is about to be done.
func consent(std stdio, f attachFlags, pid int, name string) {
	if f.run.quiet || !tty.Is(std.err) || f.run.inject == "none" || f.run.inject == "ebpf" {
		return
	}
	fmt.Fprintf(std.err, "gpumem: if process %d (%s) is a Python program, an agent goes into it for as long "+
		"as this takes, and out again (--inject none looks from outside only)\n", pid, name)
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
func (f *attachFlags) conclude(p *scan.Process, result tracer.Result,
	judging verdict.Options, print func(*record.Run, *verdict.Verdict) error) (*verdict.Verdict, error) {
	const leastRows = 3
	if s := result.Meta.Sampling; s != nil && s.Rows < leastRows {
		return nil, fmt.Errorf(
			"process %d (%s) ended after %s: too soon to be judged; run it under gpumem: gpumem run -- %s",
			p.PID, naming.Program(p), units.Counted(int(s.Rows), "sample", "samples"),
			plain.Shown(naming.Command(p)))
	}
	v, err := answers.Conclude(result.Dir, judging, producer(), print)
	if err != nil {
		return nil, err
	}
	return v, nil
}

// tellWarnings tells what a recording warns of, but for those that the answer on the same
// terminal has said already.
func tellWarnings(to io.Writer, warnings, said []string) {
	for _, warning := range warnings {
		if !slices.Contains(said, warning) {
			fmt.Fprintf(to, "gpumem: warning: %s\n", warning)
		}
	}
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
		return 0, usagef("%q is not a PID", text)
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
