package screen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"

	"github.com/gpumem/gpumem/cmd/gpumem/naming"
	"github.com/gpumem/gpumem/cmd/gpumem/option"
	"github.com/gpumem/gpumem/cmd/gpumem/tty"
	"github.com/gpumem/gpumem/cmd/gpumem/usage"
	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/report"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer"
	"github.com/gpumem/gpumem/tracer/record"
	"github.com/gpumem/gpumem/tui"
)

// Flags choose between the screen and the progress line.
type Flags struct {
	On    bool // the screen is asked for
	off   bool
	stay  bool
	theme string
}

// Add defines the flags of a recording.
func (s *Flags) Add(flags *pflag.FlagSet) {
	flags.BoolVar(&s.On, "tui", s.On,
		"show the live screen: the program's stdin is then empty, its output goes to the run folder and is "+
			"shown there (default for workloads and attach)")
	flags.BoolVar(&s.off, "no-tui", s.off, "no live screen (default for run CMD, which keeps its terminal)")
	flags.BoolVar(&s.stay, "stay", s.stay, "keep the screen after the program's end")
	s.AddTheme(flags)
}

// AddTheme defines the flag of all screens.
func (s *Flags) AddTheme(flags *pflag.FlagSet) {
	flags.StringVar(&s.theme, "theme", "auto",
		"colours of the screen for a dark or a light terminal: auto, dark or light")
}

// Check refuses what does not go together.
func (s *Flags) Check() error {
	if s.On && s.off {
		return usage.Errorf("--tui and --no-tui exclude each other")
	}
	switch s.theme {
	case "auto", "dark", "light", "":
		return nil
	}
	return usage.Errorf("--theme %s: must be auto, dark or light", s.theme)
}

// Looks is what the terminal can show.
func (s *Flags) Looks(getenv func(string) string) tui.Appearance {
	a := tui.AppearanceOf(getenv)
	if s.theme == "dark" || s.theme == "light" {
		a.Light = s.theme == "light"
	}
	return a
}

// CanShow reports whether there is a terminal for a screen: one that moves its
// cursor, and whose keys reach us.
func CanShow(in, out *os.File, getenv func(string) string) bool {
	return tty.Is(in) && tty.Is(out) && getenv("TERM") != "dumb" && getenv("TERM") != ""
}

// Start begins a recording and returns when it has ended.
type Start func(context.Context, tracer.Config) (tracer.Result, error)

// Recording is a recording with a screen.
type Recording struct {
	In, Out, Err *os.File
	Getenv       func(string) string
	Flags        Flags
	Judging      verdict.Options
	Name         string
	Producer     string // for reports that are written from the screen
	Foreign      bool   // not a bundled workload: experiments ask first
	Owned        bool   // started by us: to be ended, or left
}

// Record records with the live screen when a person looks and wants it, else with
// the progress line. With the screen the program has no terminal: its output goes
// to the run folder. A program of the user's that we start keeps the terminal
// unless the screen is asked for: it may draw on it, or ask for something.
func Record(ctx context.Context, s Recording, quiet bool, cfg tracer.Config,
	start Start) (tracer.Result, error) {
	keeps := s.KeepsTerminal()
	if keeps || s.Flags.off || quiet || !CanShow(s.In, s.Out, s.Getenv) {
		if keeps && !quiet && tty.Is(s.Err) {
			fmt.Fprintf(s.Err, "gpumem: recording into %s (live in another terminal: gpumem watch %s)\n",
				cfg.Out, cfg.Out)
		}
		return start(ctx, cfg)
	}
	return s.run(ctx, cfg, start)
}

// KeepsTerminal says whether the program is to find the terminal as if we were not
// there: no screen, and no line of ours among its own.
func (s *Recording) KeepsTerminal() bool { return s.Foreign && s.Owned && !s.Flags.On }

func (s *Recording) run(ctx context.Context, cfg tracer.Config, start Start) (tracer.Result, error) {
	control, began := &tracer.Control{}, time.Now()
	cfg.Control, cfg.Logs, cfg.Stdin = control, s.Owned, nil
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
		if err != nil || !s.Flags.stay && result.Left {
			closeScreen()
		}
	}()
	shown := s.show(screen, end, control, cfg.Out, began, done)
	if !s.Owned && !errors.Is(shown, tui.ErrGone) {
		end() // leaving the screen ends what was joined; losing it does not
	}
	plain.Store(true)
	select {
	case <-done:
	default:
		if shown != nil {
			fmt.Fprintf(s.Err, "gpumem: warning: %v; the recording goes on\n", shown)
		}
		if s.Owned && !ending.Load() {
			fmt.Fprintf(s.Err, "gpumem: %s runs on; what it writes goes to %s\n", s.Name,
				filepath.Join(cfg.Out, record.FileStdout))
		}
		<-done
	}
	if s.Owned && err == nil {
		s.tellOutput(cfg.Out, result)
	}
	return result, err
}

// show runs the screen over the folder that the tracer writes.
func (s *Recording) show(ctx context.Context, end func(), control *tracer.Control, dir string,
	began time.Time, over <-chan struct{}) error {
	folder, err := tui.OpenFolder(dir, tui.FolderOptions{
		Follow: true, Since: began,
		Feed: tui.FeedOptions{Name: s.Name, Judging: s.Judging, Usage: OwnUsage, Missed: control.Lost,
			NameOf: naming.Running},
	})
	if err != nil {
		return err
	}
	defer folder.Close()
	o := tui.Options{
		Source: folder, Looks: s.Flags.Looks(s.Getenv), CloseAtEnd: !s.Flags.stay, Over: over,
		Control: tui.Control{
			Foreign: s.Foreign, Actions: control.Actions, Experiment: control.Ask, Mark: control.Mark,
			Report: Reporter(dir, s.Judging, s.Producer), Save: Saver(dir),
		},
	}
	if s.Owned {
		o.Control.End, o.Control.Leave = end, control.Leave
	}
	return Run(ctx, o, s.In, s.Out, dir)
}

// Run shows a screen whose terminal is given back whatever becomes of us.
// place is the folder that outlives us, empty without.
func Run(ctx context.Context, o tui.Options, in, out *os.File, place string) error {
	k := tty.Start(out, place)
	o.Held = k.Held
	err := tui.Run(ctx, o, in, out)
	k.End(!errors.Is(err, tui.ErrFrozen))
	return err
}

// tellOutput says where the program's output is, and shows the end of what it
// complained of when it failed.
func (s *Recording) tellOutput(dir string, result tracer.Result) {
	const lastBytes = 2000
	stderr := filepath.Join(dir, record.FileStderr)
	if result.ExitCode > 0 {
		if text, err := os.ReadFile(stderr); err == nil && len(text) > 0 {
			text = text[max(len(text)-lastBytes, 0):]
			fmt.Fprintf(s.Err, "%s\n", text)
			if bytes.Contains(text, []byte("EOF")) {
				way := "with --no-tui"
				if s.Foreign {
					way = "without --tui"
				}
				fmt.Fprintf(s.Err,
					"gpumem: behind the screen a program has no stdin; if it asks for something, run it %s\n",
					way)
			}
		}
	}
	for _, name := range [...]string{record.FileStdout, record.FileStderr} {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Size() > 0 {
			fmt.Fprintf(s.Err, "gpumem: the program wrote %s (%s)\n", path, option.FormatSize(info.Size()))
		}
	}
}

// OwnUsage is what this process uses.
func OwnUsage() tui.Usage {
	u, err := probe.Self()
	if err != nil {
		return tui.Usage{RSS: -1}
	}
	return tui.Usage{CPU: u.CPU, RSS: u.RSS}
}

// Reporter writes the report of a run so far into its folder.
func Reporter(dir string, judging verdict.Options, producer string) func() (string, error) {
	return func() (string, error) {
		run, err := record.Open(dir)
		if err != nil {
			return "", err
		}
		v, path := verdict.Judge(run, judging), filepath.Join(dir, record.FileReport)
		return path, record.WriteFile(dir, record.FileReport, func(w io.Writer) error {
			return report.Write(w, report.HTML, run, v, report.Options{Producer: producer})
		})
	}
}

// Saver writes a snapshot of the screen into a folder, under a name of its own.
func Saver(dir string) func(string) (string, error) {
	return func(text string) (string, error) {
		name := "screen-" + time.Now().UTC().Format("20060102T150405.000Z") + ".txt"
		return filepath.Join(dir, name), record.WriteFile(dir, name, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
	}
}
