package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gpumem/gpumem/cmd/gpumem/diagnosis"
	"github.com/gpumem/gpumem/cmd/gpumem/injection"
	"github.com/gpumem/gpumem/cmd/gpumem/naming"
	"github.com/gpumem/gpumem/cmd/gpumem/option"
	"github.com/gpumem/gpumem/cmd/gpumem/output"
	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/cmd/gpumem/publishing"
	"github.com/gpumem/gpumem/cmd/gpumem/screen"
	"github.com/gpumem/gpumem/cmd/gpumem/usage"
	"github.com/gpumem/gpumem/internal/secret"
	"github.com/gpumem/gpumem/probe/scan"
	"github.com/gpumem/gpumem/report"
	"github.com/gpumem/gpumem/tracer/record"
	"github.com/gpumem/gpumem/workloads"
)

// runFlags are the flags of `gpumem run`.
type runFlags struct {
	out      string
	force    bool
	interval time.Duration
	keep     option.Size
	purge    bool
	quiet    bool
	verbose  bool
	format   option.Format
	output   string
	failOn   []string
	inject   string
	sites    bool
	profile  string

	purging    injection.Purging
	firstTouch bool
	alone      bool
	gpu        option.GPU
	screen     screen.Flags
	metrics    publishing.Flags
	judging    option.Judging
	workload   workloadFlags
}

func defaultRunFlags() runFlags {
	return runFlags{
		interval:   50 * time.Millisecond,
		keep:       record.DefaultKeep,
		inject:     "auto",
		firstTouch: true,
		profile:    injection.ProfileAuto,
		gpu:        option.AutoGPU(),
		judging:    option.DefaultJudging(),
		workload:   defaultWorkloadFlags(),
	}
}

// keepHelp is the help of --keep.
const keepHelp = "size that the run folder stays within: the last ten minutes are kept in full, what is " +
	"older is thinned, and steps, phases and extremes stay; 0 keeps everything"

// aloneHelp is the help of `gpumem run --alone`: two programs on one device
// take each other's memory.
const aloneHelp = "refuse to start while another process of yours runs the same executable (exit 1)"

// add defines the flags with the present values as defaults.
func (f *runFlags) add(flags *pflag.FlagSet) {
	f.addRecording(flags)
	flags.BoolVar(&f.purge, "purge", f.purge,
		"at the end collect, purge and trim, and measure what the operating system gets back")
	f.purging.Add(flags)
	flags.StringVar(&f.inject, "inject", f.inject,
		"what goes into a program so that it tells what it holds: auto, preload, audit (interposer at the "+
			"driver, and the Python agent), ebpf (probes), python or none")
	flags.BoolVar(&f.sites, "sites", f.sites,
		"record where live memory was asked for (PyTorch's own history; costs about 3 µs an allocation)")
	injection.AddProfile(flags, &f.profile)
	flags.BoolVar(&f.alone, "alone", f.alone, aloneHelp)
	flags.BoolVar(&f.firstTouch, "first-touch", f.firstTouch,
		"when host memory keeps growing, sample whose code first touches the new pages")
	f.workload.add(flags)
}

// addRecording defines the flags that a program needs not help with.
func (f *runFlags) addRecording(flags *pflag.FlagSet) {
	flags.StringVar(&f.out, "out", f.out, "run folder to write (default gpumem-NAME-TIME)")
	flags.BoolVar(&f.force, "force", f.force, "write into a run folder, or over a file, that exists")
	flags.DurationVar(&f.interval, "interval", f.interval,
		"time between samples; when it is not given, 250ms for a process of which nothing moves")
	flags.Var(&f.keep, "keep", keepHelp)
	flags.BoolVarP(&f.quiet, "quiet", "q", f.quiet, "no progress line")
	flags.BoolVarP(&f.verbose, "verbose", "v", f.verbose, "print the whole report, not the answer alone")
	f.format.Add(flags, "format of the answer: text, json, markdown, html, csv or pprof")
	flags.StringVarP(&f.output, "output", "o", f.output, output.RunHelp)
	f.gpu.Add(flags)
	f.screen.Add(flags)
	f.metrics.Add(flags)
	option.AddFailOn(flags, &f.failOn)
	f.judging.Add(flags)
}

func newRunCommand(std stdio, getenv func(string) string) *cobra.Command {
	f := defaultRunFlags()
	cmd := &cobra.Command{
		Use:   "run [flags] CMD ARGS… | run [flags] WORKLOAD [flags]",
		Short: "Run a program under trace and say whose memory grows",
		Long: `run starts a bundled workload or any program, samples its memory until it
ends, writes a run folder and prints the verdict on stderr: stdout belongs to
the program. Its exit code is passed on (128+n for a signal), also when the
answer or the run folder cannot be written. With --fail-on a verdict becomes the
exit code where the program itself ended well, and the lack of one is a 1.`,
		Example: `  gpumem run python train.py --epochs 3
  gpumem run --tui python train.py            # with the live screen
  gpumem run --fail-on any -- ./nqueens       # -- where a program is called like a workload
  gpumem run nqueens --fault uncut-graph      # a bundled workload
  gpumem run modelload --policy tensorlogic --purge`,
		ValidArgsFunction: completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := newTarget(&f, cmd.Flags(), args, cmd.ArgsLenAtDash())
			if err != nil {
				return err
			}
			if t.help {
				_, err := fmt.Fprint(std.out, workloadText(t.workload))
				return err
			}
			return runTarget(cmd.Context(), std, getenv, f, t)
		},
	}
	f.add(cmd.Flags())
	cmd.Flags().SetInterspersed(false) // what follows CMD, WORKLOAD or -- is read later
	option.GroupHelp(cmd, std.out, option.RunGroups())
	return cmd
}

// calmInterval is the time between samples of a process of which nothing moves. An
// interval that somebody chose counts for all of them.
func (f *runFlags) calmInterval(given map[string]string) time.Duration {
	if _, chosen := given["interval"]; chosen {
		return 0
	}
	return 250 * time.Millisecond
}

// checkOutput refuses an -o that could not be written. One in the run folder can
// be as soon as that is made.
func (f *runFlags) checkOutput() error {
	if f.out != "" && f.output != "" {
		switch filepath.Clean(f.out) {
		case filepath.Clean(f.output):
			return usagef("-o %s is the run folder of --out; name a file", f.output)
		case filepath.Dir(f.output):
			if _, err := os.Stat(f.out); errors.Is(err, os.ErrNotExist) {
				return nil
			}
		}
	}
	return output.Check(f.output, f.force)
}

// target is what is to be run.
type target struct {
	name     string
	command  []string
	shown    []string            // the command line, without the flags of run
	given    map[string]string   // the flags of run that were given
	workload *workloads.Workload // nil for a program of the user's
	help     bool                // --help after the workload's name
}

// newTarget reads what follows the flags of run; dash is how many arguments
// stood before "--", -1 without one.
func newTarget(f *runFlags, flags *pflag.FlagSet, args []string, dash int) (target, error) {
	if len(args) == 0 {
		return target{}, usagef("run takes a program or a workload; see gpumem run --help and " +
			"gpumem workloads")
	}
	if dash == 0 {
		return programTarget(flags, args)
	}
	if w, ok := workloads.ByName(args[0]); ok {
		return workloadTarget(f, flags, w, args[1:])
	}
	if _, err := exec.LookPath(args[0]); err == nil {
		return programTarget(flags, args)
	}
	if _, err := injection.ProfileSetting(args[0]); err == nil && flags.Changed("profile") {
		return target{}, usagef("--profile takes its value after an equals sign: --profile=%s", args[0])
	}
	return target{}, usagef("%q is neither a workload nor a program on the PATH%s", args[0],
		howToRun(args, unknownProgram(args[0])))
}

// programTarget is a program of the user's, with the arguments behind it.
func programTarget(flags *pflag.FlagSet, args []string) (target, error) {
	for _, name := range workloadFlagNames() {
		if flags.Changed(name) {
			return target{}, usagef("--%s is for bundled workloads; %s takes its own flags after its name",
				name, args[0])
		}
	}
	return target{name: secret.Text(args[0]), command: args, shown: args, given: option.Given(flags)}, nil
}

// howToRun says how what was typed could be run: a script by its interpreter, a file
// that is here by its path. Else it is what.
func howToRun(args []string, what string) string {
	info, err := os.Stat(args[0])
	if err != nil || info.IsDir() {
		return what
	}
	run := "./" + args[0]
	switch filepath.Ext(args[0]) {
	case ".py":
		run = "python3 " + args[0]
	case ".sh":
		run = "sh " + args[0]
	case ".jl":
		run = "julia " + args[0]
	}
	return "; to trace it: gpumem run " + strings.Join(append([]string{run}, args[1:]...), " ")
}

// check refuses what could not be done at the end, before anything runs.
func (f *runFlags) check() (report.Format, option.FailOn, error) {
	if f.interval < time.Millisecond || f.interval > time.Hour {
		return "", nil, usagef("--interval %s: must be from 1ms to 1h", f.interval)
	}
	if err := f.checkKeep(); err != nil {
		return "", nil, err
	}
	if !slices.Contains(injection.Modes(), f.inject) {
		return "", nil, usagef("--inject %s: no such way%s", f.inject,
			usage.Suggest(f.inject, injection.Modes()))
	}
	if _, err := injection.ProfileSetting(f.profile); err != nil {
		return "", nil, err
	}
	if err := f.purging.Check(); err != nil {
		return "", nil, err
	}
	if err := f.screen.Check(); err != nil {
		return "", nil, err
	}
	if err := f.gpu.Check(); err != nil {
		return "", nil, err
	}
	format, err := f.format.For(f.output)
	if err != nil {
		return "", nil, err
	}
	if err := f.checkOutput(); err != nil {
		return "", nil, err
	}
	fail, err := option.ParseFailOn(f.failOn)
	return format, fail, err
}

// checkKeep refuses a bound in which there is no room for a run.
func (f *runFlags) checkKeep() error {
	if f.keep != 0 && f.keep < record.LeastKeep {
		return usagef("--keep %s: must be %s or more, or 0 to keep everything", f.keep.String(),
			option.FormatSize(record.LeastKeep))
	}
	return nil
}

// alone returns an error that lists processes of ours, up to five, which run
// the executable of a target already.
func alone(ctx context.Context, t target) error {
	name := naming.Base(t.command[0])
	s, err := scan.Read(ctx, scan.Options{})
	if err != nil {
		return fmt.Errorf("--alone: %w", err)
	}
	left := diagnosis.LeftOf(s, []string{name}, os.Getpid())
	if len(left) == 0 {
		return nil
	}
	return fmt.Errorf("%s running:%s; end them, or start without --alone", left.Many(plain.Shown(name)),
		left.List())
}
