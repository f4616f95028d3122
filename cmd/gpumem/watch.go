package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpumem/gpumem/tui"
)

// watchFlags are the flags of `gpumem watch`.
type watchFlags struct {
	interval time.Duration
	speed    float64
	follow   bool
	gpu      gpuFlags
	screen   screenFlags
	judging  judgingFlags
	metrics  metricsFlags
	all      bool
}

func newWatchCommand(std stdio, getenv func(string) string) *cobra.Command {
	f := watchFlags{interval: time.Second, gpu: defaultGPUFlags(), judging: defaultJudgingFlags()}
	cmd := &cobra.Command{
		Use:   "watch [PID… | DIR]",
		Short: "Live screen of running processes, or of a run folder",
		Long: `watch shows chosen processes, or all that use a GPU (all there are when none
does), and records nothing. Of a run folder it shows a run that is being
written, also by another gpumem, as it grows, and plays back one that is
finished: [ and ] change the speed, space holds, Home and End jump. With
--metrics or --otlp it publishes what it sees of processes, also without a
terminal: so a machine is watched as a service.`,
		Example: `  gpumem watch
  gpumem watch 4242 4243
  gpumem watch --all --metrics 127.0.0.1:9850
  gpumem watch gpumem-train-20261120T120000Z
  gpumem watch gpumem-train-20261120T120000Z --speed 20`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return watch(cmd.Context(), std, getenv, f, args)
		},
	}
	cmd.Flags().DurationVar(&f.interval, "interval", f.interval, "time between samples of processes")
	cmd.Flags().Float64Var(&f.speed, "speed", f.speed,
		"of a playback at its start (default as fast as fills half a minute)")
	cmd.Flags().BoolVar(&f.follow, "follow", f.follow,
		"take the folder for one that is being written, even before it is there")
	f.gpu.add(cmd.Flags())
	f.screen.addTheme(cmd.Flags())
	f.judging.add(cmd.Flags())
	f.metrics.add(cmd.Flags())
	cmd.Flags().BoolVar(&f.all, "all", f.all, "all processes that use a GPU, as without a PID")
	return cmd
}

func watch(ctx context.Context, std stdio, getenv func(string) string, f watchFlags, args []string) error {
	if f.interval < 10*time.Millisecond || f.interval > time.Hour {
		return usagef("--interval %s: must be from 10ms to 1h", f.interval)
	}
	if f.speed < 0 || f.speed != f.speed {
		return usagef("--speed %v: must not be negative", f.speed)
	}
	if err := errors.Join(f.gpu.check(), f.screen.check()); err != nil {
		return err
	}
	path, pids, err := watched(args, f.follow)
	if err != nil {
		return err
	}
	if f.all && len(args) > 0 {
		return usagef("watch --all takes no PID and no run folder")
	}
	if f.metrics.on() && path != "" {
		return usagef("watch %s: a run folder is shown, not published; gpumem run --metrics publishes a run",
			path)
	}
	if !canShow(std, getenv) && !f.metrics.on() {
		return errors.New(
			"watch needs a terminal; gpumem diagnose --for 30s prints what it finds, gpumem report DIR " +
				"answers from a folder")
	}
	ctx, stop := signal.NotifyContext(ctx, endingSignals()...)
	defer stop()
	if path != "" {
		return watchFolder(ctx, std, getenv, f, path)
	}
	return watchProcesses(ctx, std, getenv, f, pids)
}

// watched sorts the arguments into one path or any number of PIDs.
func watched(args []string, follow bool) (path string, pids []int, err error) {
	for _, arg := range args {
		if pid, err := strconv.Atoi(arg); err == nil && pid > 0 {
			pids = append(pids, pid)
			continue
		}
		if _, err := os.Stat(arg); err != nil && !follow {
			return "", nil, usagef("watch %s: is neither a PID nor a run folder that is here", arg)
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
	judging, err := f.judging.options()
	if err != nil {
		return err
	}
	folder, err := tui.OpenFolder(path, tui.FolderOptions{
		Follow: f.follow, Speed: f.speed, Feed: tui.FeedOptions{Judging: judging, Usage: ownUsage},
	})
	if err != nil {
		return err
	}
	defer folder.Close()
	o := tui.Options{Source: folder, Looks: f.screen.looks(getenv), Control: tui.Control{Save: saver(".")}}
	if p := folder.Player(); p != nil {
		o.Player = p
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		o.Control.Report, o.Control.Save = reporter(path, judging), saver(path)
	}
	return runScreen(ctx, o, std, "")
}

// watchProcesses samples processes and shows them.
func watchProcesses(ctx context.Context, std stdio, getenv func(string) string, f watchFlags,
	pids []int) error {
	judging, err := f.judging.options()
	if err != nil {
		return err
	}
	if !canShow(std, getenv) {
		return watchUnseen(ctx, std, f, judging, pids)
	}
	feed := tui.NewFeed(tui.FeedOptions{Name: "watch", Judging: judging, State: tui.Watching,
		Usage: ownUsage})
	takers := rowTakers{screenRows{feed}}
	var book *watchBook
	if f.metrics.on() {
		book = newWatchBook(std, judging)
		takers = append(takers, book)
	}
	w, err := newWatcher(ctx, f, takers, pids)
	if err != nil {
		return err
	}
	defer w.close()
	if book != nil {
		p, err := book.publish(std, f, w)
		if err != nil {
			return err
		}
		defer p.end() //nolint:errcheck // the screen's end is what counts
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, 2)
	for _, work := range [...]func(context.Context){w.run, feed.Judge} {
		go func() { failed <- guard(ctx, feed, work) }()
	}
	err = runScreen(ctx, tui.Options{
		Source: feed, Looks: f.screen.looks(getenv), Processes: len(pids) != 1,
		Control: tui.Control{Save: saver(".")},
	}, std, "")
	cancel()
	return errors.Join(err, <-failed, <-failed)
}

// guard turns a panic into a word on the screen and an error, so that the
// terminal is given back.
func guard(ctx context.Context, feed *tui.Feed, work func(context.Context)) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("watching broke: %v", r)
			feed.Fault(err.Error())
		}
	}()
	work(ctx)
	return nil
}
