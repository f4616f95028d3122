package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpumem/gpumem/cmd/gpumem/books"
	"github.com/gpumem/gpumem/cmd/gpumem/folders"
	"github.com/gpumem/gpumem/cmd/gpumem/injection"
	"github.com/gpumem/gpumem/cmd/gpumem/option"
	"github.com/gpumem/gpumem/cmd/gpumem/publishing"
	"github.com/gpumem/gpumem/cmd/gpumem/screen"
	"github.com/gpumem/gpumem/cmd/gpumem/watching"
	"github.com/gpumem/gpumem/tui"
)

// watchFlags are the flags of `gpumem watch`.
type watchFlags struct {
	interval time.Duration
	speed    float64
	follow   bool
	gpu      option.GPU
	screen   screen.Flags
	judging  option.Judging
	metrics  publishing.Flags
	all      bool
	devices  bool
	inject   string
}

func newWatchCommand(std stdio, getenv func(string) string) *cobra.Command {
	f := watchFlags{interval: time.Second, gpu: option.AutoGPU(), judging: option.DefaultJudging()}
	cmd := &cobra.Command{
		Use:   "watch [PID… | DIR]",
		Short: "Show running processes, or a run folder, on a live screen",
		Long: `watch without arguments opens the recording that goes on, such as that of a gpumem
run in another terminal. Without one, or with --devices, it shows the machine: its
GPUs, and the processes that use one (all processes where none does), with their
owner, what they use and whether they leak. It then records nothing, and names the
newest finished recording in this folder. K asks whether the selected process is
to be ended.

Of a run folder it shows a run that is still written, also by another gpumem, and
plays back one that is finished: [ and ] change the speed, space holds, Home and
End jump.

With --metrics or --otlp it publishes what it sees of processes, also without a
terminal, so that a machine can be watched as a service. With --inject an agent
goes into the Python programs that are watched, and out again at the end, and
tells what only the program knows. It goes into those named, else into those that
use a GPU.`,
		Example: `  gpumem watch
  gpumem watch --devices
  gpumem watch 4242 4243
  gpumem watch 4242 --inject
  gpumem watch --all --metrics 127.0.0.1:9850
  gpumem watch gpumem-train-20261120T120000Z
  gpumem watch gpumem-train-20261120T120000Z --speed 20`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return watch(cmd.Context(), std, getenv, f, args)
		},
	}
	cmd.Flags().DurationVar(&f.interval, "interval", f.interval, "time between samples of processes")
	cmd.Flags().Float64Var(&f.speed, "speed", f.speed,
		"speed at which a playback starts (default: the whole in half a minute)")
	cmd.Flags().BoolVar(&f.follow, "follow", f.follow,
		"follow the folder as one that is being written, even before it exists")
	f.gpu.Add(cmd.Flags())
	f.screen.AddTheme(cmd.Flags())
	f.judging.Add(cmd.Flags())
	f.metrics.Add(cmd.Flags())
	cmd.Flags().BoolVar(&f.all, "all", f.all, "all processes that use a GPU, also while a recording goes on")
	cmd.Flags().BoolVar(&f.devices, "devices", f.devices,
		"the machine's GPUs and processes, also while a recording goes on (the same as --all)")
	injection.AddVisits(cmd.Flags(), &f.inject)
	offerLines(cmd, std, getenv, &f)
	return cmd
}

func watch(ctx context.Context, std stdio, getenv func(string) string, f watchFlags, args []string) error {
	if f.interval < 10*time.Millisecond || f.interval > time.Hour {
		return usagef("--interval %s: must be from 10ms to 1h", f.interval)
	}
	if f.speed < 0 || f.speed != f.speed {
		return usagef("--speed %v: must not be negative", f.speed)
	}
	if err := errors.Join(f.gpu.Check(), f.screen.Check(), injection.CheckVisits(f.inject)); err != nil {
		return err
	}
	path, pids, err := watched(args, f.follow)
	if err != nil {
		return err
	}
	flag := map[bool]string{true: "--all", false: "--devices"}[f.all]
	if (f.all || f.devices) && len(args) > 0 {
		return usagef("watch %s takes no PID and no run folder", flag)
	}
	if f.metrics.On() && path != "" {
		return usagef("watch %s: a run folder is shown, not published; gpumem run --metrics publishes a run",
			path)
	}
	if f.inject != injection.Nobody && path != "" {
		return usagef("watch %s --inject: a run folder is shown; into a program goes gpumem watch PID "+
			"--inject", path)
	}
	if !screen.CanShow(std.in, std.out, getenv) && !f.metrics.On() {
		return errors.New(
			"watch needs a terminal; gpumem diagnose --for 30s prints what it finds, gpumem report DIR " +
				"answers from a folder")
	}
	greeting := ""
	if f.anything(args) {
		if path = folders.GoingOn(); path == "" {
			greeting = folders.FinishedText(".")
		}
	}
	ctx, stop := signal.NotifyContext(ctx, endingSignals()...)
	defer stop()
	if path != "" {
		return watchFolder(ctx, std, getenv, f, path)
	}
	return watchProcesses(ctx, std, getenv, f, pids, greeting)
}

// anything reports that it is not said what to watch: a recording, if one goes on.
func (f *watchFlags) anything(args []string) bool {
	return len(args) == 0 && !f.all && !f.devices && !f.metrics.On() && f.inject == injection.Nobody
}

// watched sorts the arguments into one path or any number of PIDs.
func watched(args []string, follow bool) (path string, pids []int, err error) {
	for _, arg := range args {
		if pid, err := strconv.Atoi(arg); err == nil && pid > 0 {
			pids = append(pids, pid)
			continue
		}
		if _, err := os.Stat(arg); err != nil && !follow {
			return "", nil, usagef("watch: %s is neither a PID nor a run folder", arg)
		}
		path = arg
	}
	if path != "" && len(args) > 1 {
		return "", nil, usagef("watch takes one run folder, or PIDs")
	}
	return path, pids, nil
}

// watchFolder follows or plays back a run folder.
func watchFolder(ctx context.Context, std stdio, getenv func(string) string, f watchFlags,
	path string) error {
	judging, err := f.judging.Options()
	if err != nil {
		return err
	}
	folder, err := tui.OpenFolder(path, tui.FolderOptions{
		Follow: f.follow, Speed: f.speed, Feed: tui.FeedOptions{Judging: judging, Usage: screen.OwnUsage},
	})
	if err != nil {
		return err
	}
	defer folder.Close()
	o := tui.Options{Source: folder, Looks: f.screen.Looks(getenv),
		Control: tui.Control{Save: screen.Saver(".")}}
	if p := folder.Player(); p != nil {
		o.Player = p
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		o.Control.Report, o.Control.Save = screen.Reporter(path, judging, producer()), screen.Saver(path)
	}
	return screen.Run(ctx, o, std.in, std.out, "")
}

// watchProcesses samples processes: for the screen, which says the greeting first, and
// for the metrics.
func watchProcesses(ctx context.Context, std stdio, getenv func(string) string, f watchFlags,
	pids []int, greeting string) error {
	judging, err := f.judging.Options()
	if err != nil {
		return err
	}
	o := f.options(std, pids)
	o.Judging, o.Greeting = judging, greeting
	if !screen.CanShow(std.in, std.out, getenv) {
		return watching.Unseen(ctx, o)
	}
	return watching.Screen(ctx, o, f.screen.Looks(getenv))
}

// options are what is watched, and where it is shown.
func (f *watchFlags) options(std stdio, pids []int) watching.Options {
	return watching.Options{In: std.in, Out: std.out, Err: std.err, Interval: f.interval, GPU: f.gpu,
		Metrics: f.metrics, PIDs: pids, Inject: f.inject}
}

// linesFlags choose a watch that prints: of an allocation server, or as JSON.
type linesFlags struct {
	server  string
	devices []int
	json    bool
	compact bool
	samples int
}

// offerLines gives watch the flags of linesFlags; with --server or --json they
// take the place of the screen.
func offerLines(cmd *cobra.Command, std stdio, getenv func(string) string, f *watchFlags) {
	var l linesFlags
	flags := cmd.Flags()
	flags.StringVar(&l.server, "server", "",
		"show what an allocation server has on its books; the path of its socket")
	flags.IntSliceVarP(&l.devices, "device", "d", nil, "with --server, show these devices only")
	flags.BoolVar(&l.json, "json", false, "print one JSON object a sample instead of the screen")
	flags.BoolVar(&l.compact, "compact", false,
		"print one short line a sample: its number, memory in MB with its level, buffers")
	flags.IntVar(&l.samples, "samples", 0,
		"with --server, --json or --compact, end after this many samples (0: at Ctrl-C)")
	screen := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := l.check(f, args); err != nil {
			return err
		}
		if !l.on() {
			return screen(cmd, args)
		}
		ctx, stop := signal.NotifyContext(cmd.Context(), endingSignals()...)
		defer stop()
		if l.server != "" {
			return books.Watch(ctx, books.WatchOptions{Socket: l.server, Devices: l.devices, JSON: l.json,
				Compact: l.compact, Samples: l.samples, Every: f.interval,
				Out: std.out, Err: std.err, Getenv: getenv})
		}
		return watchLines(ctx, std, *f, l, args)
	}
}

func (l *linesFlags) on() bool { return l.server != "" || l.json || l.compact }

// check refuses what does not go together.
func (l *linesFlags) check(f *watchFlags, args []string) error {
	switch {
	case f.interval < 10*time.Millisecond || f.interval > time.Hour:
		return usagef("--interval %s: must be from 10ms to 1h", f.interval)
	case l.samples < 0:
		return usagef("--samples %d: must not be negative", l.samples)
	case l.json && l.compact:
		return usagef("--json and --compact: give one of them")
	case !l.on() && l.samples > 0:
		return usagef("--samples: needs --server, --json or --compact; the screen ends with q")
	case l.server == "" && len(l.devices) > 0:
		return usagef("--device: needs --server; the screen shows all devices of the processes")
	case l.server != "" && len(args) > 0:
		return usagef("watch --server takes no PID and no run folder")
	case l.on() && f.metrics.On():
		return usagef("--metrics and --otlp publish what the screen shows; gpumem serve --metrics " +
			"publishes a server")
	}
	return nil
}

// watchLines prints a JSON object or a short line a sample.
func watchLines(ctx context.Context, std stdio, f watchFlags, l linesFlags, args []string) error {
	if err := errors.Join(f.gpu.Check(), injection.CheckVisits(f.inject)); err != nil {
		return err
	}
	path, pids, err := watched(args, f.follow)
	if err != nil {
		return err
	}
	if l.compact && f.anything(args) {
		path = folders.GoingOn()
	}
	switch {
	case path != "" && l.compact:
		return watching.CompactFolder(ctx, std.out, path, f.interval, l.samples)
	case l.compact:
		return watching.Compact(ctx, f.options(std, pids), l.samples)
	case path != "":
		return usagef("watch --json %s: samples.csv and events.jsonl of a run folder are its lines already",
			path)
	}
	return watching.Lines(ctx, f.options(std, pids), l.samples)
}
