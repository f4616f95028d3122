package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/gpumem/gpumem/cmd/gpumem/device"
	"github.com/gpumem/gpumem/cmd/gpumem/option"
	"github.com/gpumem/gpumem/cmd/gpumem/tty"
	"github.com/gpumem/gpumem/cmd/gpumem/usage"
	"github.com/gpumem/gpumem/workloads"
)

// childCommand is the hidden command under which gpumem runs a workload in a
// process of its own, so that its own memory is never in the measurement.
const childCommand = "__workload"

// newChildCommand runs one workload with arguments that workloadTarget made.
func newChildCommand(std stdio) *cobra.Command {
	return &cobra.Command{
		Use: childCommand, Hidden: true, DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("%s takes a workload", childCommand)
			}
			w, ok := workloads.ByName(args[0])
			if !ok {
				return usagef("no workload %q", args[0])
			}
			f, leftover := defaultWorkloadFlags(), option.Size(1<<20)
			cmd.Flags().Var(&leftover, "leftover", "")
			f.add(cmd.Flags())
			own := addOwn(cmd.Flags(), w)
			cmd.DisableFlagParsing = false
			if err := cmd.Flags().Parse(args[1:]); err != nil {
				return usage.OfFlag(cmd.Flags(), err)
			}
			return w.Run(cmd.Context(), workloads.Env{
				Open: device.Opener(f.device), Policy: f.policy, Fault: f.fault, Seed: f.seed,
				Repeat: f.repeat,
				Flags:  own(), LeakThreshold: int64(leftover),
				Stdin: std.in, Stdout: std.out, Stderr: std.err, LookupEnv: os.LookupEnv,
				TempDir: os.TempDir(),
			})
		},
	}
}

// executable is our own program file.
func executable() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the program's own file to run the workload with: %w", err)
	}
	return self, nil
}

// newKeeperCommand is the process that gives the terminal back.
func newKeeperCommand(std stdio) *cobra.Command {
	return &cobra.Command{
		Use: tty.KeeperCommand, Hidden: true, Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			place := ""
			if len(args) > 0 {
				place = args[0]
			}
			return tty.Serve(std.in, std.out, place)
		},
	}
}
