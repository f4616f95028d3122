package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"

	"github.com/gpumem/gpumem/cmd/gpumem/naming"
	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/internal/secret"
	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/probe/scan"
	"github.com/gpumem/gpumem/report"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer"
	"github.com/gpumem/gpumem/tracer/record"
	"github.com/gpumem/gpumem/tui"
)

// screenFlags choose between the screen and the progress line.
type screenFlags struct {
	off   bool
	stay  bool
	theme string
}

func (s *screenFlags) add(flags *pflag.FlagSet) {
	flags.BoolVar(&s.off, "no-tui", s.off,
		"no live screen: a progress line, and the program keeps the terminal (on the screen its stdin is "+
			"empty, its output goes to the run folder)")
	flags.BoolVar(&s.stay, "stay", s.stay, "keep the screen after the program's end")
	s.addTheme(flags)
}

func (s *screenFlags) addTheme(flags *pflag.FlagSet) {
	flags.StringVar(&s.theme, "theme", "auto",
		"colours of the screen for a dark or a light terminal: auto, dark or light")
}

func (s *screenFlags) check() error {
	switch s.theme {
	case "auto", "dark", "light", "":
		return nil
	}
	return usagef("--theme %s: must be auto, dark or light", s.theme)
}

// looks is what the terminal can show.
func (s *screenFlags) looks(getenv func(string) string) tui.Appearance {
	a := tui.AppearanceOf(getenv)
	if s.theme == "dark" || s.theme == "light" {
		a.Light = s.theme == "light"
	}
	return a
}

// canShow reports whether there is a terminal for a screen: one that moves its
// cursor, and whose keys reach us.
func canShow(std stdio, getenv func(string) string) bool {
	return isTerminal(std.in) && isTerminal(std.out) && getenv("TERM") != "dumb" && getenv("TERM") != ""
}

// startRun begins a recording and returns when it has ended.
type startRun func(context.Context, tracer.Config) (tracer.Result, error)

// screened is a recording with a screen.
type screened struct {
	std     stdio
	getenv  func(string) string
	flags   screenFlags
	judging verdict.Options
	name    string
	foreign bool // not a bundled workload: experiments ask first
	owned   bool // started by us: to be ended, or left
}

// onScreen records with the live screen when a person looks, else with the
// progress line. With the screen the program has no terminal: its output goes
// to the run folder.
func onScreen(ctx context.Context, s screened, quiet bool, cfg tracer.Config,
	start startRun) (tracer.Result, error) {
	if s.flags.off || quiet || !canShow(s.std, s.getenv) {
		return start(ctx, cfg)
	}
	return s.run(ctx, cfg, start)
}

func (s *screened) run(ctx context.Context, cfg tracer.Config, start startRun) (tracer.Result, error) {
	control, began := &tracer.Control{}, time.Now()
	cfg.Control, cfg.Logs, cfg.Stdin = control, s.owned, nil
	var plain atomic.Bool // the screen is gone, the line may be drawn
	var ending atomic.Bool
	if line := cfg.Progress; line != nil {
		cfg.Progress = func(p tracer.Progress) {
			if plain.Load() {
				line(p)
			}
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	end := func() { ending.Store(true); cancel() }
	screen, closeScreen := context.WithCancel(context.Background())
	defer closeScreen()
	var result tracer.Result
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		result, err = start(ctx, cfg)
		if err != nil || !s.flags.stay && result.Left {
			closeScreen()
		}
	}()
	shown := s.show(screen, end, control, cfg.Out, began, done)
	if !s.owned && !errors.Is(shown, tui.ErrGone) {
		end() // leaving the screen ends what was joined; losing it does not
	}
	plain.Store(true)
	select {
	case <-done:
	default:
		if shown != nil {
			fmt.Fprintf(s.std.err, "gpumem: warning: %v; the recording goes on\n", shown)
		}
		if s.owned && !ending.Load() {
			fmt.Fprintf(s.std.err, "gpumem: %s runs on; what it writes goes to %s\n", s.name,
				filepath.Join(cfg.Out, record.FileStdout))
		}
		<-done
	}
	if s.owned && err == nil {
		s.tellOutput(cfg.Out, result)
	}
	return result, err
}

// show runs the screen over the folder that the tracer writes.
func (s *screened) show(ctx context.Context, end func(), control *tracer.Control, dir string, began time.Time,
	over <-chan struct{}) error {
	folder, err := tui.OpenFolder(dir, tui.FolderOptions{
		Follow: true, Since: began,
		Feed: tui.FeedOptions{Name: s.name, Judging: s.judging, Usage: ownUsage, Missed: control.Lost,
			NameOf: nameOf},
	})
	if err != nil {
		return err
	}
	defer folder.Close()
	o := tui.Options{
		Source: folder, Looks: s.flags.looks(s.getenv), CloseAtEnd: !s.flags.stay, Over: over,
		Control: tui.Control{
			Foreign: s.foreign, Actions: control.Actions, Experiment: control.Ask, Mark: control.Mark,
			Report: reporter(dir, s.judging), Save: saver(dir),
		},
	}
	if s.owned {
		o.Control.End, o.Control.Leave = end, control.Leave
	}
	return runScreen(ctx, o, s.std, dir)
}

// runScreen shows a screen whose terminal is given back whatever becomes of us.
// place is the folder that outlives us, empty without.
func runScreen(ctx context.Context, o tui.Options, std stdio, place string) error {
	k := startKeeper(std.out, place)
	o.Held = k.held
	err := tui.Run(ctx, o, std.in, std.out)
	k.end(!errors.Is(err, tui.ErrFrozen))
	return err
}

// tellOutput says where the program's output is, and shows the end of what it
// complained of when it failed.
func (s *screened) tellOutput(dir string, result tracer.Result) {
	const lastBytes = 2000
	stderr := filepath.Join(dir, record.FileStderr)
	if result.ExitCode > 0 {
		if text, err := os.ReadFile(stderr); err == nil && len(text) > 0 {
			text = text[max(len(text)-lastBytes, 0):]
			fmt.Fprintf(s.std.err, "%s\n", text)
			if bytes.Contains(text, []byte("EOF")) {
				fmt.Fprintln(s.std.err,
					"gpumem: on the screen a program's stdin is empty; if it asks for something, run it "+
						"with --no-tui")
			}
		}
	}
	for _, name := range [...]string{record.FileStdout, record.FileStderr} {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Size() > 0 {
			fmt.Fprintf(s.std.err, "gpumem: the program wrote %s (%s)\n", path, formatByteSize(info.Size()))
		}
	}
}

// nameOf is what a person calls a process of this machine, empty when it has
// ended already.
func nameOf(pid int) string {
	p, err := scan.One("", pid)
	if err != nil {
		return ""
	}
	return naming.Program(&p)
}

// ownUsage is what this process uses.
func ownUsage() tui.Usage {
	u, err := probe.Self()
	if err != nil {
		return tui.Usage{RSS: -1}
	}
	return tui.Usage{CPU: u.CPU, RSS: u.RSS}
}

// reporter writes the report of a run so far into its folder.
func reporter(dir string, judging verdict.Options) func() (string, error) {
	return func() (string, error) {
		run, err := record.Open(dir)
		if err != nil {
			return "", err
		}
		v, path := verdict.Judge(run, judging), filepath.Join(dir, record.FileReport)
		return path, record.WriteFile(dir, record.FileReport, func(w io.Writer) error {
			return report.Write(w, report.HTML, run, v, report.Options{Producer: "gpumem " + version()})
		})
	}
}

// saver writes a snapshot of the screen into a folder, under a name of its own.
func saver(dir string) func(string) (string, error) {
	return func(text string) (string, error) {
		name := "screen-" + time.Now().UTC().Format("20060102T150405.000Z") + ".txt"
		return filepath.Join(dir, name), record.WriteFile(dir, name, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
	}
}

// shownCommand is a target as a person typed it.
func shownCommand(t target) string {
	words := t.shown
	if t.workload != nil && len(words) > 2 {
		words = words[2:] // gpumem run
	}
	return plain.Shown(strings.Join(secret.Args(words), " "))
}
