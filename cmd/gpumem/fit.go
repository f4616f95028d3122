package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gpumem/gpumem/cmd/gpumem/answers"
	"github.com/gpumem/gpumem/cmd/gpumem/option"
	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/peak"
	"github.com/gpumem/gpumem/tracer/importer"
)

// fitFlags are the flags of `gpumem fit`.
type fitFlags struct {
	memory  option.Size
	batches []int64
	json    bool
}

// fitAnswer is what --json prints.
type fitAnswer struct {
	MemoryBytes int64       `json:"memory_bytes"`
	Runs        []fitRun    `json:"runs"`
	Batch       *peak.Batch `json:"batch,omitempty"`
}

type fitRun struct {
	Path string `json:"path"`
	peak.Need
	Fits   *bool  `json:"fits"` // null: it depends on what the pool gives back
	Answer string `json:"answer"`
}

func newFitCommand(std stdio) *cobra.Command {
	var f fitFlags
	cmd := &cobra.Command{
		Use:   "fit RUN… --memory SIZE",
		Short: "Say whether a recorded program fits a device of a size",
		Long: `fit says from a recording whether the program would fit a device of the size
--memory. What it needs lies between two bounds: what it had at its peak if its
pool gives back all that is idle, and all that it had of the device. The peak of
a profiled window (gpumem run --profile) counts where there is one, else the
samples.

With several runs of the same program and the batch of each (--batch 8,16) it
says which batch fits, if what is needed is in proportion to the batch.`,
		Example: `  gpumem fit gpumem-train --memory 24GiB
  gpumem fit gpumem-b8 gpumem-b16 --batch 8,16 --memory 24GiB`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("fit takes a run folder; see gpumem fit --help")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return fitRuns(std, f, args) },
	}
	cmd.Flags().Var(&f.memory, "memory", "what the device has")
	cmd.Flags().Int64SliceVar(&f.batches, "batch", nil, "the batch of each run, in their order")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

func fitRuns(std stdio, f fitFlags, paths []string) error {
	if f.memory <= 0 {
		return usagef("fit needs --memory, such as --memory 24GiB")
	}
	if len(f.batches) > 0 && len(f.batches) != len(paths) {
		return usagef("--batch has %s for %s", units.Counted(int64(len(f.batches)), "size", "sizes"),
			units.Counted(int64(len(paths)), "run", "runs"))
	}
	answer := fitAnswer{MemoryBytes: int64(f.memory)}
	var needs []peak.Need
	for _, path := range paths {
		run, err := answers.Open(path, importer.Options{})
		if err != nil {
			return err
		}
		need, ok := peak.NeedOf(run, peak.Of(run, peak.Growth{}).Peak)
		if !ok {
			return fmt.Errorf("%s tells no live bytes of a device; record it with the agent (gpumem run)",
				path)
		}
		needs = append(needs, need)
		fits, sentence := need.Fits(int64(f.memory))
		one := fitRun{Path: path, Need: need, Answer: sentence}
		if fits != 0 {
			yes := fits > 0
			one.Fits = &yes
		}
		answer.Runs = append(answer.Runs, one)
	}
	if len(f.batches) > 0 {
		if i := slices.IndexFunc(needs, func(n peak.Need) bool { return n.Cut }); i >= 0 {
			return usagef("--batch: %s ended when memory ran out, so that what its batch needs is not known",
				paths[i])
		}
		batch, ok := peak.BatchOf(f.batches, needs, int64(f.memory))
		if !ok {
			return usagef("--batch: two runs or more of different sizes are needed, of which the " +
				"larger needs more")
		}
		answer.Batch = &batch
	}
	if f.json {
		return plain.WriteJSON(std.out, answer)
	}
	_, err := fmt.Fprint(std.out, answer.text())
	return err
}

// text is the answer for people.
func (a *fitAnswer) text() string {
	var b strings.Builder
	for i := range a.Runs {
		r := &a.Runs[i]
		fmt.Fprintf(&b, "%s: %s\n", plain.Shown(r.Path), r.Answer)
		line := "  live at the peak " + plain.Size(r.Live)
		if r.Cut {
			line = "  live, and asked for, when it ran out " + plain.Size(r.Live)
		}
		if r.Pool != nil {
			line += ", pool at most " + plain.Size(*r.Pool)
		}
		if r.Beside != nil {
			line += ", the driver beside it " + plain.Size(*r.Beside)
		} else {
			line += "; what the driver takes beside it is not known"
		}
		if r.Sampled {
			line += "; seen at samples, between which more may have lived"
		}
		fmt.Fprintln(&b, line)
	}
	if s := a.Batch; s != nil {
		size := fmt.Sprintf("%d", s.Least)
		if s.Most != s.Least {
			size = fmt.Sprintf("%d to %d", s.Least, s.Most)
		}
		fmt.Fprintf(&b, "A batch of %s fits: %s an item beside %s that stay, if it is in proportion.\n", size,
			plain.Size(s.PerItem), plain.Size(s.Fixed))
	}
	return b.String()
}
