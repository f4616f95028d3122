package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gpumem/gpumem/cmd/gpumem/settings"
	"github.com/gpumem/gpumem/cmd/gpumem/tty"
	"github.com/gpumem/gpumem/cmd/gpumem/usage"
)

// newRoot builds the command tree. Nothing is read, opened or started before a
// command runs.
func newRoot(std stdio, getenv func(string) string) *cobra.Command {
	root := &cobra.Command{
		Use:   "gpumem",
		Short: "Says whose memory grows in a GPU program, what drives it and who holds it",
		Long: `gpumem runs a program under trace, samples what the operating system, the GPU
driver, the framework's pool and the program itself hold, and answers with
evidence whose memory grows: the program's live tensors (app-leak), its pool's
idle blocks (pool-growth), the driver (driver-growth) or the host
(host-growth); or none, or undecided with what would settle it.`,
		Example: `  gpumem run nqueens                          # a bundled workload
  gpumem run nqueens --fault no-autorelease-pool
  gpumem run python train.py                  # any program
  gpumem attach 4242                          # one that runs already
  gpumem look 4242                            # what it holds now, and who holds it
  gpumem diagnose                             # who holds memory on this machine
  gpumem report gpumem-train-20261120T120000Z # the answer again, from its folder`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
	}
	root.CompletionOptions.HiddenDefaultCmd = false
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usage.OfFlag(cmd.Flags(), err) })
	root.AddCommand(
		newRunCommand(std, getenv),
		newAttachCommand(std, getenv),
		newLookCommand(std),
		newWatchCommand(std, getenv),
		newDiagnoseCommand(std, getenv),
		newChildCommand(std),
		newKeeperCommand(std),
		newAskCommand(),
		newReportCommand(std, getenv),
		newLsCommand(std),
		newCleanCommand(std),
		newDiffCommand(std, getenv),
		newFitCommand(std),
		newTuneCommand(std),
		newImportCommand(std, getenv),
		newExportCommand(std),
		newServeCommand(std),
		newDumpCommand(std),
		newPytestCommand(std, getenv),
		newWorkloadsCommand(std),
		newDevicesCommand(std),
		newSelftestCommand(std),
		newSubjectCommand(std),
		newVersionCommand(std),
	)
	if man := newManCommand(); man != nil {
		root.AddCommand(man)
	}
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		if how := howToRun(args, ""); how != "" {
			return usagef("no command %q%s", args[0], how)
		}
		if _, err := exec.LookPath(args[0]); err == nil {
			return usagef("no command %q; to trace it: gpumem run %s", args[0], strings.Join(args, " "))
		}
		return noCommand(cmd, args[0])
	}
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if name := cmd.Name(); name != "run" && name != "attach" {
			return nil
		}
		dir, err := os.Getwd()
		if err != nil {
			return nil // a folder that is gone has no settings
		}
		return settings.Apply(cmd.Flags(), getenv, dir)
	}
	root.Version = version() // a habit of many: --version
	root.SetVersionTemplate(versionLine())
	for _, c := range root.Commands() {
		completeValues(c)
	}
	strictHelp(root)
	wrapHelp(root, std)
	return root
}

// wrapHelp breaks the lines of flags, which cobra leaves as long as their texts.
func wrapHelp(root *cobra.Command, std stdio) {
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages",
		fmt.Sprintf(".FlagUsagesWrapped %d", tty.TextWidth(std.out))))
}

// noCommand is the error for a name that is none of cmd's commands.
func noCommand(cmd *cobra.Command, name string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return usagef("no command %q%s", name, usage.Suggest(name, names))
}

// strictHelp has help and completion refuse a name they do not know; cobra's
// own answer it with a page and exit code 0.
func strictHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = func(_ *cobra.Command, args []string) error {
				if found, _, err := root.Find(args); len(args) > 0 && (err != nil || found == root) {
					return noCommand(root, args[0])
				}
				return nil
			}
		case "completion":
			c.Args = cobra.ArbitraryArgs
			c.RunE = func(cmd *cobra.Command, args []string) error {
				if len(args) == 0 {
					return cmd.Help()
				}
				return noCommand(cmd, args[0])
			}
		}
	}
}
