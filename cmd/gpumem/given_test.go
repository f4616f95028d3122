package main

import (
	"slices"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gpumem/gpumem/cmd/gpumem/option"
)

// TestEveryFlagOfRunIsRecordedOrHasAReasonNotToBe fails for a new flag of run
// or attach until somebody decides.
func TestEveryFlagOfRunIsRecordedOrHasAReasonNotToBe(t *testing.T) {
	t.Parallel()
	recorded := []string{
		"alone", "first-touch", "gpu", "inject", "interval", "keep", "leftover", "profile", "purge", "purge-every",
		"purge-when",
		"sites", "unified",
		"device", "fault", "policy", "repeat", "seed", // of a workload: its command line takes them
	}
	left := []string{
		// the answer and its looks
		"fail-on", "force", "format", "json", "no-tui", "out", "output", "quiet", "stay", "theme", "tui",
		"verbose", "help-all",
		// names of secrets among them
		"metrics", "metrics-cert", "metrics-host", "metrics-key", "metrics-processes",
		"metrics-token-file", "otlp",
		"all", "for", "partial", "resume", // of attach
	}
	getenv := func(string) string { return "" }
	for _, cmd := range []*cobra.Command{newRunCommand(stdio{}, getenv), newAttachCommand(stdio{}, getenv)} {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if want := slices.Contains(recorded, f.Name); want == slices.Contains(left, f.Name) {
				t.Errorf("--%s: decide whether run.json records it", f.Name)
			} else if option.Unrecorded(f.Name) == want {
				t.Errorf("--%s: recorded %t, want %t", f.Name, !want, want)
			}
		})
	}
}

func TestAListIsRecordedAsItIsWritten(t *testing.T) {
	t.Parallel()
	f := defaultRunFlags()
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	f.add(flags)
	if err := flags.Parse([]string{"--gpu", "nvml", "--gpu", "drm", "--metrics-token-file", "/secret",
		"--out", "x", "--leftover", "1536K"}); err != nil {
		t.Fatal(err)
	}
	given := option.Given(flags)
	if len(given) != 2 || given["gpu"] != "nvml,drm" || given["leftover"] != "1536KiB" {
		t.Errorf("%v", given)
	}
}
