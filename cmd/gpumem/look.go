package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpumem/gpumem/cmd/gpumem/injection"
	"github.com/gpumem/gpumem/cmd/gpumem/looking"
	"github.com/gpumem/gpumem/cmd/gpumem/naming"
	"github.com/gpumem/gpumem/cmd/gpumem/option"
	"github.com/gpumem/gpumem/cmd/gpumem/output"
	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/cmd/gpumem/usage"
	"github.com/gpumem/gpumem/tracer"
	"github.com/gpumem/gpumem/tracer/agent/python"
)

// lookFlags are the flags of `gpumem look`.
type lookFlags struct {
	json    bool
	output  string
	force   bool
	since   string
	inject  string
	partial bool
	gpu     option.GPU
}

func newLookCommand(std stdio) *cobra.Command {
	f := lookFlags{inject: injection.Auto, gpu: option.AutoGPU()}
	cmd := &cobra.Command{
		Use:   "look PID",
		Short: "Say what a running process holds now, without a recording",
		Long: `look says within about a second what a running process holds: by account, by
category (parameters, gradients, optimizer state and so on), by holder, and by
site where the framework records sites; and how the idle memory of its pool
lies. It records nothing. An agent goes into a Python program, looks once, and
goes out again; the program stands still for some milliseconds. Of any other
program, and with --inject none, it says what the system and the driver tell.
-o keeps the look, and --since says what grew since one that was kept.`,
		Example: `  gpumem look 4242
  gpumem look 4242 -o a.json
  gpumem look 4242 --since a.json
  gpumem look 4242 --json`,
		Args: usage.Exactly(1, "one PID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return lookAt(cmd.Context(), std, f, args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.since, "since", "", "also say what grew since an earlier look, a file of -o")
	flags.StringVarP(&f.output, "output", "o", "", "keep the look in this file, as JSON, for --since")
	flags.BoolVar(&f.force, "force", false, "overwrite the file of -o")
	flags.BoolVar(&f.json, "json", false, "print the look as JSON")
	flags.StringVar(&f.inject, "inject", f.inject,
		"what goes into it: auto or python (the Python agent), or none")
	flags.BoolVar(&f.partial, "partial", false, "also a process of another user: say what may be read of it")
	f.gpu.Add(flags)
	return cmd
}

// lookAt looks once and prints what was seen.
func lookAt(ctx context.Context, std stdio, f lookFlags, text string) error {
	if !slices.Contains([]string{injection.Auto, "python", "none"}, f.inject) {
		return usagef("--inject %s: gpumem look takes auto, python or none", f.inject)
	}
	if err := errors.Join(f.gpu.Check(), output.Check(f.output, f.force)); err != nil {
		return err
	}
	var before *looking.Look
	if f.since != "" {
		var err error
		if before, err = looking.Read(f.since); err != nil {
			return fmt.Errorf("--since: %w", err)
		}
	}
	join := attachFlags{partial: f.partial}
	p, err := join.target(text)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, endingSignals()...)
	defer stop()
	sources, err := f.gpu.Open(ctx)
	if err != nil {
		return err
	}
	cfg := tracer.LookConfig{}
	if sources != nil {
		defer sources.Close()
		if sources.Here() {
			cfg.GPU = sources.Reader()
			defer cfg.GPU.Close()
		}
	}
	if f.inject != "none" {
		const often = 50 * time.Millisecond // enough for one sample
		cfg.Enter = injection.EnterPython(python.Late{Interval: often, Look: true}, f.inject == "python")
	}
	seen, err := tracer.Look(ctx, p.PID, cfg)
	if err != nil {
		return join.failure(std, &p, tracer.Result{}, err)
	}
	return f.print(std, looking.Of(p.PID, p.Start, naming.Program(&p), seen), before)
}

// print writes the look, and what grew since the one before, if there is one.
func (f *lookFlags) print(std stdio, now, before *looking.Look) error {
	if f.output != "" {
		if err := output.Write(std.out, f.output, f.force, func(w io.Writer) error {
			return plain.WriteJSON(w, now)
		}); err != nil || f.output == "-" {
			return err
		}
	}
	var since *looking.Since
	if before != nil {
		since = looking.Compare(before, now)
		if since.Other {
			fmt.Fprintf(std.err, "gpumem: %s is a look at another process: %s (process %d)\n", f.since,
				plain.Shown(before.Program), before.PID)
		}
	}
	if f.json {
		return plain.WriteJSON(std.out, struct {
			*looking.Look
			Since *looking.Since `json:"since,omitempty"`
		}{now, since})
	}
	_, err := io.WriteString(std.out, now.Text(since))
	return err
}
