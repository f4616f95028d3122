package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpumem/gpumem/cmd/gpumem/diagnosis"
	"github.com/gpumem/gpumem/cmd/gpumem/injection"
	"github.com/gpumem/gpumem/cmd/gpumem/option"
	"github.com/gpumem/gpumem/cmd/gpumem/output"
	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/cmd/gpumem/tty"
	"github.com/gpumem/gpumem/probe/host"
	"github.com/gpumem/gpumem/probe/scan"
	"github.com/gpumem/gpumem/tracer/record"
)

// diagnoseFlags are the flags of `gpumem diagnose`.
type diagnoseFlags struct {
	all        bool
	wide       bool
	runtime    []string
	expectNone []string
	length     time.Duration
	interval   time.Duration
	format     string
	json       bool
	output     string
	force      bool
	quiet      bool
	inject     string
	failOn     []string
	gpu        option.GPU
}

func defaultDiagnoseFlags() diagnoseFlags {
	return diagnoseFlags{format: "text", runtime: []string{"gpumem", "tl", "tensorlogic"},
		gpu: option.AutoGPU()}
}

func newDiagnoseCommand(std stdio, getenv func(string) string) *cobra.Command {
	f := defaultDiagnoseFlags()
	cmd := &cobra.Command{
		Use:   "diagnose [PID…]",
		Short: "Show who holds GPU and host memory on this machine, ended processes included",
		Long: `diagnose looks once at the machine: at each GPU and the processes that hold
its memory, those that have ended included; at the processes with the most host
memory; and at what the machine has left. With PIDs it looks at those processes
and says what their memory is made of. With --for it watches and gives every
process a verdict. However many processes there are, at most 5 % of those it
calls growing are expected to be called so falsely.

With --inject an agent goes into Python programs for that time, and out again:
into those named, else into those that use a GPU. The verdict then says whose the
growth is and who holds it.`,
		Example: `  gpumem diagnose
  gpumem diagnose 4242
  gpumem diagnose --for 30s --fail-on any
  gpumem diagnose --for 30s --inject         # with who holds what grows
  gpumem diagnose --json --all
  gpumem diagnose --expect-none trainer      # exit 1 when one of yours is left`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return diagnose(cmd.Context(), std, getenv, f, args)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.all, "all", false, "show every process, not only those with the most memory")
	flags.BoolVar(&f.wide, "wide", false, "also show which build of its program each process runs")
	flags.StringSliceVar(&f.runtime, "runtime", f.runtime,
		"executables that --format sections lists on their own")
	flags.StringSliceVar(&f.expectNone, "expect-none", nil,
		"only check that no process of yours runs this executable (exit 1 if one does)")
	flags.DurationVar(&f.length, "for", 0, "watch that long and judge every process; from 3s")
	flags.DurationVar(&f.interval, "interval", 0,
		"time between samples of --for (default: 240 samples, 20ms to 1s)")
	flags.StringVar(&f.format, "format", f.format,
		"text, json, or sections (as scripts/diagnose_memory_leak.sh prints them)")
	flags.BoolVar(&f.json, "json", false, "the same as --format json: every visible process")
	flags.StringVarP(&f.output, "output", "o", "", output.Help)
	flags.BoolVar(&f.force, "force", false, "overwrite the output file")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress line")
	f.gpu.Add(flags)
	injection.AddVisits(flags, &f.inject)
	option.AddFailOn(flags, &f.failOn)
	return cmd
}

// check refuses what does not go together, and reads the verdicts that fail.
func (f *diagnoseFlags) check(pids int) (option.FailOn, error) {
	if f.json {
		f.format = "json"
	}
	if f.format != "text" && f.format != "json" && f.format != "sections" {
		return nil, usagef("--format %s: must be text, json or sections", f.format)
	}
	if f.length != 0 && f.length < diagnosis.LeastWatch {
		return nil, usagef("--for %s: must be %s or more; less says nothing", f.length,
			diagnosis.LeastWatch)
	}
	if f.interval != 0 && (f.interval < 10*time.Millisecond || f.length/f.interval < diagnosis.LeastSamples) {
		return nil, usagef("--interval %s: must be from 10ms, with %d samples or more in --for", f.interval,
			diagnosis.LeastSamples)
	}
	if len(f.failOn) > 0 && f.length == 0 {
		return nil, usagef("--fail-on needs verdicts, which need --for")
	}
	if err := injection.CheckVisits(f.inject); err != nil {
		return nil, err
	}
	if f.inject != injection.Nobody && f.length == 0 {
		return nil, usagef("--inject needs --for: an agent tells what grows; gpumem look PID looks once")
	}
	if len(f.expectNone) > 0 && (pids > 0 || f.length != 0) {
		return nil, usagef("--expect-none takes neither PIDs nor --for")
	}
	if err := f.gpu.Check(); err != nil {
		return nil, err
	}
	return option.ParseFailOn(f.failOn)
}

func diagnose(ctx context.Context, std stdio, getenv func(string) string, f diagnoseFlags,
	args []string) error {
	fail, err := f.check(len(args))
	if err != nil {
		return err
	}
	pids := make([]int, len(args))
	for i, text := range args {
		if pids[i], err = parsePID(text); err != nil {
			return err
		}
	}
	if err := output.Check(f.output, f.force); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(f.expectNone) > 0 {
		return expectNone(ctx, std, f)
	}
	d, err := look(ctx, std, f, pids)
	if err != nil {
		return err
	}
	if err := printDiagnosis(d, std, f, tty.WantColor(std.out, getenv)); err != nil {
		return err
	}
	if d.Watched != nil {
		if code := fail.Worst(d.Watched); code != exitDone {
			return &codeError{code}
		}
	}
	return nil
}

// look scans the machine, with --for before and after watching it.
func look(ctx context.Context, std stdio, f diagnoseFlags, pids []int) (*diagnosis.Diagnosis, error) {
	sources, err := f.gpu.Open(ctx)
	if err != nil {
		return nil, err
	}
	d := &diagnosis.Diagnosis{Chosen: len(pids) > 0, GPUOff: sources == nil, All: f.all, Wide: f.wide,
		Sections: f.format == "sections", Runtime: f.runtime}
	d.Host, _ = os.Hostname() // a machine without a name has none
	if sources != nil {
		defer sources.Close()
		d.Absent = sources.Absent()
	}
	machine := make(chan struct{}) // looked at beside the processes
	go func() {
		defer close(machine)
		if !d.Chosen || f.format == "json" {
			facts := host.Read(ctx)
			d.Machine, d.Sensors = &facts, host.Sensors(ctx)
		}
	}()
	defer func() { <-machine }()
	o := scan.Options{PIDs: pids, Sources: sources}
	if d.Scan, err = scan.Read(ctx, o); err != nil {
		return nil, pidError(err)
	}
	if f.length > 0 {
		if d.Watched, err = watchScan(ctx, std, f, pids, d.Scan, sources); err != nil {
			return nil, err
		}
		// What is there now, with who came and went; a process that was named
		// may have gone, and then what was seen of it stays.
		if now, err := scan.Read(context.WithoutCancel(ctx), o); err == nil {
			d.Scan = now
		}
	}
	if d.Chosen {
		d.Compose(ctx)
	}
	return d, nil
}

// printDiagnosis writes a diagnosis to stdout or into the file of -o.
func printDiagnosis(d *diagnosis.Diagnosis, std stdio, f diagnoseFlags, color bool) error {
	write := func(w io.Writer) error {
		if f.format == "json" {
			return d.JSON(w)
		}
		_, err := io.WriteString(w, d.Text(color && output.ToStdout(f.output)))
		return err
	}
	if output.ToStdout(f.output) {
		return write(std.out)
	}
	return output.Write(std.out, f.output, f.force, write)
}

// watchScan watches the processes of a scan for --for, or until ctx is done.
func watchScan(ctx context.Context, std stdio, f diagnoseFlags, pids []int, s *scan.Scan,
	sources *scan.Sources) (*diagnosis.Observation, error) {
	o := diagnosis.WatchOptions{Length: f.length, Interval: f.interval, Chosen: len(pids) > 0}
	if f.inject != injection.Nobody {
		o.Agents = func(event func(record.Event), say func(int, string)) diagnosis.Agents {
			return injection.Visiting(std.err, f.quiet, f.inject, injection.AgentInterval, event, say)
		}
	}
	if !f.quiet && tty.Is(std.err) {
		o.Progress = std.err
	}
	if sources.Here() {
		reader := sources.Reader()
		defer reader.Close()
		o.GPU = reader
	}
	return diagnosis.Watch(ctx, s, o)
}

// expectNone checks that no process of ours with one of the names is left; up
// to five that are stand in the error.
func expectNone(ctx context.Context, std stdio, f diagnoseFlags) error {
	s, err := scan.Read(ctx, scan.Options{})
	if err != nil {
		return err
	}
	left := diagnosis.LeftOf(s, f.expectNone, os.Getpid())
	if f.format == "json" {
		if err := left.JSON(std.out, f.expectNone); err != nil {
			return err
		}
	}
	names := plain.Shown(strings.Join(f.expectNone, " or "))
	if len(left) == 0 {
		if f.format != "json" {
			fmt.Fprintf(std.out, "no process of %s is left\n", names)
		}
		return nil
	}
	return errors.New(left.Many(names) + " left:" + left.List())
}
