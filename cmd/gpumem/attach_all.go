package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gpumem/gpumem/cmd/gpumem/injection"
	"github.com/gpumem/gpumem/cmd/gpumem/naming"
	"github.com/gpumem/gpumem/cmd/gpumem/option"
	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/probe/scan"
	"github.com/gpumem/gpumem/report"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer"
	"github.com/gpumem/gpumem/tracer/record"
)

// attached is one process of `gpumem attach --all`, and what came of it. Each has a run
// folder of its own: a verdict is about one program, and these may be of several.
type attached struct {
	PID     int              `json:"pid"`
	Program string           `json:"program"`
	Rank    *int             `json:"rank,omitempty"`
	Folder  string           `json:"folder,omitempty"`
	Verdict *verdict.Verdict `json:"verdict,omitempty"`
	Error   string           `json:"error,omitempty"`

	process scan.Process
	result  tracer.Result
}

// mostAttached bounds the processes that are recorded at once.
const mostAttached = 128

// attachToAll records every process that uses a GPU, each into its own folder.
func attachToAll(ctx context.Context, std stdio, getenv func(string) string, f attachFlags) error {
	format, fail, err := f.check()
	if err != nil {
		return err
	}
	judging, err := f.run.judging.Options()
	if err != nil {
		return err
	}
	if err := f.checkAll(format); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, endingSignals()...)
	defer stop()
	list, err := f.onGPU(ctx, std)
	if err != nil {
		return err
	}
	dir := f.run.out
	if dir == "" {
		if dir, err = record.NewFolder("all", time.Now()); err != nil {
			return err
		}
		defer os.Remove(dir) // when nothing came into it
	} else if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	f.announce(std, list, dir)
	if f.length > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.length)
		defer cancel()
	}
	var all sync.WaitGroup
	for _, a := range list {
		all.Go(func() { f.attachOne(ctx, std, getenv, a, dir, judging) })
	}
	all.Wait()
	stop() // a second Ctrl-C ends us
	return f.answerAll(std, list, format, judging, fail)
}

// checkAll refuses what is for one process only.
func (f *attachFlags) checkAll(format report.Format) error {
	switch {
	case f.run.screen.On:
		return usagef("attach --all has no live screen; gpumem watch shows every process that uses a GPU")
	case f.run.output != "":
		return usagef("attach --all: -o is for one process; --json prints all verdicts")
	case f.run.metrics.On():
		return usagef("attach --all publishes nothing; gpumem watch --all --metrics does")
	case format != report.Text && format != report.JSON:
		return usagef("attach --all: --format must be text or json")
	}
	return nil
}

// onGPU are the processes that hold memory of a GPU, those with a rank first. Those
// that may not be attached to are told in a line each.
func (f *attachFlags) onGPU(ctx context.Context, std stdio) ([]*attached, error) {
	sources, err := f.run.gpu.Open(ctx)
	if err != nil {
		return nil, err
	}
	if sources == nil {
		return nil, usagef("attach --all asks the drivers which processes use a GPU: leave out --gpu none")
	}
	defer sources.Close()
	if !sources.Here() {
		return nil, errors.New("no GPU driver is here that tells which processes use it (gpumem devices " +
			"says why); attach to one: gpumem attach PID")
	}
	s, err := scan.Read(ctx, scan.Options{Sources: sources})
	if err != nil {
		return nil, err
	}
	var list []*attached
	refused := 0
	for _, p := range s.Processes {
		if len(p.GPU) == 0 || p.PID == os.Getpid() {
			continue
		}
		if _, err := f.target(fmt.Sprint(p.PID)); err != nil {
			refused++
			fmt.Fprintf(std.err, "gpumem: left out: %v\n", err)
			continue
		}
		list = append(list, &attached{PID: p.PID, Program: naming.Program(&p), Rank: tracer.RankOf(p.PID),
			process: p})
	}
	switch {
	case len(list) == 0 && refused > 0:
		return nil, errors.New("of the processes that use a GPU none may be attached to")
	case len(list) == 0:
		return nil, errors.New("no process uses a GPU now; gpumem diagnose shows who holds memory")
	case len(list) > mostAttached:
		return nil, fmt.Errorf("%d processes use a GPU: attach to some of them, by PID", len(list))
	}
	slices.SortFunc(list, func(a, b *attached) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.PID, b.PID))
	})
	return list, nil
}

// rank orders the processes: those without one come last.
func (a *attached) rank() int {
	if a.Rank == nil {
		return 1 << 30
	}
	return *a.Rank
}

// name is what a person calls the process.
func (a *attached) name() string {
	text := fmt.Sprintf("process %d (%s)", a.PID, a.Program)
	if a.Rank != nil {
		text = fmt.Sprintf("rank %d, %s", *a.Rank, text)
	}
	return text
}

// folder is where its recording goes.
func (a *attached) folder(dir string) string {
	stem := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\: `, r) {
			return '_'
		}
		return r
	}, a.Program)
	if a.Rank != nil {
		stem = fmt.Sprintf("rank%d-%s", *a.Rank, stem)
	}
	return filepath.Join(dir, fmt.Sprintf("%s-%d", stem, a.PID))
}

// announce says what is about to be done.
func (f *attachFlags) announce(std stdio, list []*attached, dir string) {
	if f.run.quiet {
		return
	}
	how := "; an agent goes into each Python program for as long as this takes, and out again"
	if f.run.inject == "none" || f.run.inject == "ebpf" {
		how = ""
	}
	fmt.Fprintf(std.err, "gpumem: recording %s into %s%s\n",
		units.Counted(len(list), "process", "processes"), dir, how)
	for _, a := range list {
		fmt.Fprintf(std.err, "gpumem:   %s\n", a.name())
	}
}

// attachOne records one of them.
func (f attachFlags) attachOne(ctx context.Context, std stdio, getenv func(string) string, a *attached,
	dir string, judging verdict.Options) {
	f.run.out, f.run.quiet = a.folder(dir), true
	result, err := f.record(ctx, std, getenv, &a.process, judging)
	if err != nil {
		if err = f.failure(std, &a.process, result, err); err != nil {
			a.Error = err.Error()
		}
		return
	}
	a.result, a.Folder = result, result.Dir
}

// answerAll judges the recordings, and prints an answer for each.
func (f *attachFlags) answerAll(std stdio, list []*attached, format report.Format,
	judging verdict.Options, fail option.FailOn) error {
	code, failed := exitDone, 0
	for i, a := range list {
		var err error
		if a.Error != "" {
			err = errors.New(a.Error)
		} else {
			injection.TellStays(std.err, a.result.Stays)
			a.Verdict, err = f.conclude(&a.process, a.result, judging,
				func(run *record.Run, v *verdict.Verdict) error {
					if format != report.Text {
						return nil
					}
					return printOne(std, a, run, v, i > 0)
				})
		}
		if err != nil {
			failed++
			a.Error = err.Error()
			fmt.Fprintf(std.err, "gpumem: %s: %v\n", a.name(), err)
			continue
		}
		tellWarnings(std.err, a.result.Warnings, nil)
		if c := fail.Of(a.Verdict); c != exitDone && (code == exitDone || c < code) {
			code = c
		}
	}
	if format == report.JSON {
		if err := plain.WriteJSON(std.out, list); err != nil {
			return err
		}
	}
	switch {
	case failed == len(list):
		return errors.New("nothing could be judged")
	case code != exitDone:
		return &codeError{code}
	}
	return nil
}

// printOne prints the answer for one process.
func printOne(std stdio, a *attached, run *record.Run, v *verdict.Verdict, further bool) error {
	var b strings.Builder
	if further {
		b.WriteString("\n")
	}
	plain.Wrap(&b, "", "", a.name()+": "+plain.Shown(v.Answer))
	fmt.Fprintf(&b, "Report: %s\n", filepath.Join(run.Path, record.FileReport))
	_, err := fmt.Fprint(std.out, b.String())
	return err
}
