package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gpumem/gpumem/internal/secret"
	"github.com/gpumem/gpumem/report"
	"github.com/gpumem/gpumem/workloads"
)

// runFlags are the flags of `gpumem run`.
type runFlags struct {
	out      string
	force    bool
	interval time.Duration
	purge    bool
	quiet    bool
	format   string
	json     bool
	output   string
	failOn   []string
	inject   string
	sites    bool

	firstTouch bool
	alone      bool
	gpu        gpuFlags
	screen     screenFlags
	metrics    metricsFlags
	judging    judgingFlags
	workload   workloadFlags
}

func defaultRunFlags() runFlags {
	return runFlags{
		interval: 50 * time.Millisecond, format: "text", inject: "auto", firstTouch: true,
		gpu:     defaultGPUFlags(),
		judging: defaultJudgingFlags(), workload: defaultWorkloadFlags(),
	}
}

// add defines the flags with the present values as defaults.
func (f *runFlags) add(flags *pflag.FlagSet) {
	f.addRecording(flags)
	flags.BoolVar(&f.purge, "purge", f.purge,
		"at the end collect, purge and trim, and measure what the operating system gets back")
	flags.StringVar(&f.inject, "inject", f.inject,
		"what goes into a program so that it tells what it holds: auto, preload, audit (interposer at the "+
			"driver, and the Python agent), ebpf (probes), python or none")
	flags.BoolVar(&f.sites, "sites", f.sites,
		"record where live memory was asked for (PyTorch's own history; costs about 3 µs an allocation)")
	flags.BoolVar(&f.alone, "alone", f.alone, aloneHelp)
	flags.BoolVar(&f.firstTouch, "first-touch", f.firstTouch,
		"when host memory keeps growing, sample whose code first touches the new pages")
	f.workload.add(flags)
}

// addRecording defines the flags that a program needs not help with.
func (f *runFlags) addRecording(flags *pflag.FlagSet) {
	flags.StringVar(&f.out, "out", f.out, "run folder to write (default gpumem-NAME-TIME)")
	flags.BoolVar(&f.force, "force", f.force, "write into a run folder, or over a file, that exists")
	flags.DurationVar(&f.interval, "interval", f.interval, "time between samples")
	flags.BoolVarP(&f.quiet, "quiet", "q", f.quiet, "no progress line")
	flags.StringVar(&f.format, "format", f.format, "of the answer: text, json, markdown, html, csv or pprof")
	flags.BoolVar(&f.json, "json", f.json, "the same as --format json")
	flags.StringVarP(&f.output, "output", "o", f.output, runOutputHelp)
	f.gpu.add(flags)
	f.screen.add(flags)
	f.metrics.add(flags)
	addFailOn(flags, &f.failOn)
	f.judging.add(flags)
}

func newRunCommand(std stdio, getenv func(string) string) *cobra.Command {
	f := defaultRunFlags()
	cmd := &cobra.Command{
		Use:   "run [flags] WORKLOAD [flags] | run [flags] -- CMD ARGS…",
		Short: "Run a program under trace and say whose memory grows",
		Long: `run starts a bundled workload or any program, samples its memory until it
ends, writes a run folder and prints the verdict on stderr: stdout belongs to
the program. Its exit code is passed on (128+n for a signal), also when the
answer or the run folder cannot be written; with --fail-on a verdict becomes an
exit code when the program itself ended well, and so does the lack of one (1).`,
		Example: `  gpumem run nqueens
  gpumem run nqueens --fault uncut-graph --epochs 400
  gpumem run modelload --policy tensorlogic --purge
  gpumem run --interval 10ms --fail-on any -- python train.py`,
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
	cmd.Flags().SetInterspersed(false) // what follows WORKLOAD or -- is read later
	return cmd
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
	return checkOutput(f.output, f.force)
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
		return target{}, usagef("run takes a workload or -- CMD; see gpumem run --help and gpumem workloads")
	}
	if dash == 0 {
		for _, name := range workloadFlagNames() {
			if flags.Changed(name) {
				return target{},
					usagef("--%s is for bundled workloads; %s takes its own flags after its name",
						name, args[0])
			}
		}
		return target{name: secret.Text(args[0]), command: args, shown: args, given: givenFlags(flags)}, nil
	}
	w, ok := workloads.ByName(args[0])
	if !ok {
		return target{}, usagef("no workload %q%s; to trace a program: gpumem run -- %s",
			args[0], suggest(args[0], workloadNames()), args[0])
	}
	return workloadTarget(f, flags, w, args[1:])
}

// check refuses what could not be done at the end, before anything runs.
func (f *runFlags) check() (report.Format, failOn, error) {
	if f.interval < time.Millisecond || f.interval > time.Hour {
		return "", nil, usagef("--interval %s: must be from 1ms to 1h", f.interval)
	}
	if !slices.Contains(injectModes(), f.inject) {
		return "", nil, usagef("--inject %s: no such way%s", f.inject, suggest(f.inject, injectModes()))
	}
	if err := f.screen.check(); err != nil {
		return "", nil, err
	}
	if err := f.gpu.check(); err != nil {
		return "", nil, err
	}
	format, err := parseFormat(f.format, f.json)
	if err != nil {
		return "", nil, err
	}
	if err := f.checkOutput(); err != nil {
		return "", nil, err
	}
	fail, err := parseFailOn(f.failOn)
	return format, fail, err
}
