package option

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gpumem/gpumem/cmd/gpumem/tty"
)

// HelpGroup are flags that --help-all shows under one title. The first group is all
// that --help shows.
type HelpGroup struct {
	Title string
	Flags []string // their names, in order
}

// everydayTitle is that of the flags that --help has, RestTitle that of the flags that
// no group names.
const (
	everydayTitle = "Flags"
	RestTitle     = "Others"
)

// RunGroups are the flags of run and attach.
func RunGroups() []HelpGroup {
	return []HelpGroup{
		{everydayTitle, []string{"out", "interval", "for", "purge", "sites", "profile", "fail-on", "tui",
			"json", "output", "quiet", "verbose", "help", "help-all"}},
		{"What is recorded", []string{"keep", "inject", "gpu", "first-touch", "alone", "partial", "resume",
			"force", "purge-every", "purge-when"}},
		{"The answer", []string{"format", "leftover", "unified"}},
		{"The live screen", []string{"no-tui", "stay", "theme"}},
		{"Bundled workloads", []string{"device", "fault", "policy", "repeat", "seed"}},
		{"Metrics", []string{"metrics", "metrics-cert", "metrics-host", "metrics-key", "metrics-processes",
			"metrics-token-file", "otlp"}},
	}
}

// GroupHelp gives a command two helps: --help with the flags of the first group, and
// --help-all with all of them, each under its title. Help goes to out.
func GroupHelp(cmd *cobra.Command, out *os.File, groups []HelpGroup) {
	var all bool
	cmd.Flags().BoolVar(&all, "help-all", false, "help with every flag")
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		fmt.Fprint(out, groupedHelp(cmd, groups, all, tty.TextWidth(out)))
	})
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if all {
			return cmd.Help()
		}
		return run(cmd, args)
	}
}

func groupedHelp(cmd *cobra.Command, groups []HelpGroup, all bool, width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nUsage:\n", strings.TrimSpace(cmd.Long))
	for _, use := range strings.Split(cmd.Use, " | ") {
		fmt.Fprintf(&b, "  %s %s\n", cmd.Parent().CommandPath(), use)
	}
	fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	cmd.InitDefaultHelpFlag()
	left := 0
	for i, g := range grouped(cmd.Flags(), groups) {
		if i > 0 && !all {
			g.VisitAll(func(*pflag.Flag) { left++ })
			continue
		}
		title := RestTitle
		if i < len(groups) {
			title = groups[i].Title
		}
		if text := g.FlagUsagesWrapped(width); text != "" {
			fmt.Fprintf(&b, "\n%s:\n%s", title, text)
		}
	}
	if left > 0 {
		fmt.Fprintf(&b, "\n%s --help-all has %d more.\n", cmd.CommandPath(), left)
	}
	return b.String()
}

// grouped sorts the flags into the groups; the last set has those of no group.
func grouped(flags *pflag.FlagSet, groups []HelpGroup) []*pflag.FlagSet {
	sets := make([]*pflag.FlagSet, len(groups)+1)
	for i := range sets {
		sets[i] = pflag.NewFlagSet("", pflag.ContinueOnError)
		sets[i].SortFlags = false
	}
	named := map[string]bool{}
	for i, g := range groups {
		for _, name := range g.Flags {
			if f := flags.Lookup(name); f != nil {
				sets[i].AddFlag(f)
				named[name] = true
			}
		}
	}
	flags.VisitAll(func(f *pflag.Flag) {
		if !named[f.Name] && !f.Hidden {
			sets[len(groups)].AddFlag(f)
		}
	})
	return sets
}
