package main

import (
	"context"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/gpumem/gpumem/cmd/gpumem/device"
	"github.com/gpumem/gpumem/cmd/gpumem/option"
	"github.com/gpumem/gpumem/cmd/gpumem/output"
	"github.com/gpumem/gpumem/cmd/gpumem/selftest"
	"github.com/gpumem/gpumem/cmd/gpumem/usage"
)

// selftestFlags are the flags of `gpumem selftest`.
type selftestFlags struct {
	devices []string
	size    option.Size
	json    bool
	output  string
	force   bool
	gpu     option.GPU
}

func newSelftestCommand(std stdio) *cobra.Command {
	f := selftestFlags{size: 64 << 20, gpu: option.AutoGPU()}
	cmd := &cobra.Command{
		Use:   "selftest",
		Short: "Check what works on this machine, and compare the numbers with the system's tools",
		Long: `selftest asks every source of numbers and every driver whether it works here.
On each device a process of its own runs one kernel, allocates a known size
and gives it up again; each account must see that, and what ps, footprint or
nvidia-smi say of the same process must agree. The report has no host name,
no user name and no path: paste it into a ticket as it is.

Exit code 0: all that can work here works; 1: something is wrong. What is not
here (no such GPU, no such system) is not wrong.`,
		Example: `  gpumem selftest
  gpumem selftest --json -o selftest.json     # for a ticket, with every figure
  gpumem selftest --device soft --size 256MiB
  gpumem selftest --device cuda:1`,
		Args: usage.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return runSelftest(cmd.Context(), std, f) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.devices, "device", nil,
		"only these: host, soft, cuda, cuda:N, apple (default: all that are here)")
	flags.Var(&f.size, "size", "what each device allocates")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	flags.StringVarP(&f.output, "output", "o", "", output.Help)
	flags.BoolVar(&f.force, "force", false, "overwrite the output file")
	f.gpu.Add(flags)
	return cmd
}

// The bounds of --size: below, growth is lost in what a process does anyway.
const (
	leastSize = 16 << 20
	mostSize  = 4 << 30
)

func (f *selftestFlags) check() error {
	for _, d := range f.devices {
		if d == device.Auto {
			return usagef("--device auto: name a device, or leave the flag out for all")
		}
		if err := checkDevice(d); err != nil {
			return err
		}
	}
	if f.size < leastSize || f.size > mostSize {
		return usagef("--size %s: must be from 16MiB to 4GiB", f.size.String())
	}
	if err := output.Check(f.output, f.force); err != nil {
		return err
	}
	return f.gpu.Check()
}

func runSelftest(ctx context.Context, std stdio, f selftestFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	self, err := executable()
	if err != nil {
		return err
	}
	sources, err := f.gpu.Open(ctx)
	if err != nil {
		return err
	}
	if sources != nil {
		defer sources.Close()
	}
	report, err := selftest.Run(ctx, selftest.Options{
		Self: self, Version: version(), Devices: f.devices, Size: int64(f.size), Sources: sources,
	})
	if err != nil {
		return err
	}
	write := report.Text
	if f.json {
		write = report.JSON
	}
	if output.ToStdout(f.output) {
		err = write(std.out)
	} else {
		err = output.Write(std.out, f.output, f.force, write)
	}
	if err == nil && report.Count(selftest.Wrong) > 0 {
		return &codeError{exitFailed}
	}
	return err
}

// newSubjectCommand is the process that selftest measures.
func newSubjectCommand(std stdio) *cobra.Command {
	return &cobra.Command{
		Use: selftest.SubjectCommand, Hidden: true, Args: usage.Exactly(2, "a device and a size"),
		RunE: func(_ *cobra.Command, args []string) error {
			size, err := strconv.ParseInt(args[1], 10, 64)
			if err != nil || size <= 0 {
				return usagef("%s: no size", args[1])
			}
			return selftest.Serve(std.in, std.out, args[0], size)
		},
	}
}
