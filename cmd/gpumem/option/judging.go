package option

import (
	"github.com/spf13/pflag"

	"github.com/gpumem/gpumem/cmd/gpumem/usage"
	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/verdict"
)

// Judging are the thresholds of a verdict a user may set.
type Judging struct {
	Leftover Size // of --leftover
	unified  string
}

// DefaultJudging is how a verdict is reached when nobody says otherwise.
func DefaultJudging() Judging {
	return Judging{Leftover: 1 << 20, unified: "auto"}
}

// Add defines the flags with the present values as defaults.
func (j *Judging) Add(flags *pflag.FlagSet) {
	flags.Var(&j.Leftover, "leftover", "growth that is allowed from the mark baseline to the mark released")
	flags.StringVar(&j.unified, "unified", j.unified, "whether GPU bytes are host memory: auto, yes or no")
}

// Options are what the engine is told. The error is for a value that is none.
func (j *Judging) Options() (verdict.Options, error) {
	o := verdict.Options{LeftoverBytes: int64(j.Leftover), Unified: account.Unified(j.unified)}
	switch o.Unified {
	case account.UnifiedAuto, account.UnifiedYes, account.UnifiedNo:
		return o, nil
	}
	return o, usage.Errorf("--unified %s: must be auto, yes or no", j.unified)
}
