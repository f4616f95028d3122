package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gpumem/gpumem/cmd/gpumem/answers"
	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/cmd/gpumem/usage"
	"github.com/gpumem/gpumem/report/peak"
	"github.com/gpumem/gpumem/tracer/importer"
)

func newTuneCommand(std stdio) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "tune RUN",
		Short: "Say which pool setting would have kept and missed less",
		Long: `tune replays the allocations of a profiled window (gpumem run --profile) through
pools of other settings. It says what each would have taken from the driver at
most, what it would have kept idle, and how often it would have asked the driver.
The pools are simulated.`,
		Example: `  gpumem run --profile -- python train.py
  gpumem tune gpumem-train`,
		Args: usage.Exactly(1, "one run"),
		RunE: func(_ *cobra.Command, args []string) error { return tuneRun(std, args[0], asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func tuneRun(std stdio, path string, asJSON bool) error {
	run, err := answers.Open(path, importer.Options{})
	if err != nil {
		return err
	}
	m := peak.Of(run, peak.Growth{})
	steps := m.Peak.Recording()
	if len(steps) == 0 {
		if m.Missing != "" {
			return fmt.Errorf("%s: %s", path, m.Missing)
		}
		return fmt.Errorf("%s holds no profiled window; record one with gpumem run --profile", path)
	}
	outcomes := peak.Tune(steps, peak.Policies())
	best, better := peak.Recommend(outcomes)
	if asJSON {
		return plain.WriteJSON(std.out, map[string]any{"policies": outcomes, "recommended": best.Policy})
	}
	t := plain.NewTable(plain.Left("policy"), plain.Right("at most"), plain.Right("saved"),
		plain.Right("kept idle"), plain.Right("hits"), plain.Right("misses"))
	for _, o := range outcomes {
		t.Add(o.Policy, plain.Size(o.PeakBytes), savedText(o.SavedBytes), plain.Size(o.KeptBytes),
			fmt.Sprint(o.Hits), fmt.Sprint(o.Misses))
	}
	var b strings.Builder
	t.Write(&b, "")
	if better {
		fmt.Fprintf(&b, "Recommended, as simulated: PYTORCH_CUDA_ALLOC_CONF=%s. It saves %s at the peak.\n",
			best.Setting, plain.Size(best.SavedBytes))
	} else {
		fmt.Fprintf(&b, "In simulation no other setting does better than %s.\n", best.Policy)
	}
	_, err = fmt.Fprint(std.out, b.String())
	return err
}

// savedText is a size that may be below 0: then the policy takes more.
func savedText(bytes int64) string {
	if bytes < 0 {
		return "−" + plain.Size(-bytes)
	}
	return plain.Size(bytes)
}
