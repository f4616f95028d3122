package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gpumem/gpumem/cmd/gpumem/device"
	"github.com/gpumem/gpumem/cmd/gpumem/injection"
	"github.com/gpumem/gpumem/cmd/gpumem/option"
	"github.com/gpumem/gpumem/pool"
	"github.com/gpumem/gpumem/probe/scan"
	"github.com/gpumem/gpumem/workloads"
)

// complete has the shell complete a flag with names.
func complete(cmd *cobra.Command, flag string, names []string) {
	// The error is for a flag that does not exist or is completed already.
	_ = cmd.RegisterFlagCompletionFunc(flag,
		cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
}

// completeValues has the shell complete the flags of a command whose values have
// names.
func completeValues(cmd *cobra.Command) {
	values := map[string]func() []string{
		"device":  device.Names,
		"fail-on": option.FailOnNames,
		"inject":  injection.Modes,
		"policy":  policyNames,
		"fault":   func() []string { return faultNames(workloads.All()) },
		"gpu":     func() []string { return append([]string{"auto", "none"}, scan.SourceNames()...) },
		"theme":   func() []string { return []string{"auto", "dark", "light"} },
		"unified": func() []string { return []string{"auto", "yes", "no"} },
	}
	switch cmd.Name() {
	case "run", "attach", "report", "import":
		values["format"] = option.FormatNames
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if names := values[f.Name]; names != nil {
			_ = cmd.RegisterFlagCompletionFunc(f.Name,
				func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
					return names(), cobra.ShellCompDirectiveNoFileComp
				})
		}
	})
}

func policyNames() (names []string) {
	for _, p := range pool.Policies() {
		names = append(names, p.Name)
	}
	return names
}

// faultNames are the faults of workloads, each name once.
func faultNames(list []workloads.Workload) (names []string) {
	seen := map[string]bool{}
	for _, w := range list {
		for _, f := range w.Faults {
			if !seen[f.Name] {
				names = append(names, f.Name)
			}
			seen[f.Name] = true
		}
	}
	return names
}

// completeRun completes what follows the flags of run: a workload's name, then
// flags (of whose values cobra does not tell the flag); behind "--" the shell's
// own.
func completeRun(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return workloadCompletions(), cobra.ShellCompDirectiveNoFileComp
	}
	w, ok := workloads.ByName(args[0])
	if !ok || cmd.ArgsLenAtDash() == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	if !strings.HasPrefix(word, "-") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var flags []string
	for _, f := range w.Flags {
		flags = append(flags, "--"+f.Name+"\t"+f.Help)
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, "--"+f.Name+"\t"+f.Usage) })
	return flags, cobra.ShellCompDirectiveNoFileComp
}
