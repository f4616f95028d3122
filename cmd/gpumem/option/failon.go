package option

import (
	"github.com/spf13/pflag"

	"github.com/gpumem/gpumem/cmd/gpumem/diagnosis"
	"github.com/gpumem/gpumem/cmd/gpumem/usage"
	"github.com/gpumem/gpumem/report/verdict"
)

// findingCodes are the exit codes that --fail-on turns a verdict into.
var findingCodes = map[verdict.Class]int{
	verdict.AppLeak:      3,
	verdict.PoolGrowth:   4,
	verdict.DriverGrowth: 5,
	verdict.HostGrowth:   6,
	verdict.Undecided:    7,
}

// FailOn is the value of --fail-on: the verdicts that end with their code.
type FailOn map[verdict.Class]bool

// Code is the exit code of a class, 0 where it is not to fail.
func (f FailOn) Code(v verdict.Class) int {
	if f[v] {
		return findingCodes[v]
	}
	return 0
}

// ParseFailOn reads the values of --fail-on.
func ParseFailOn(names []string) (FailOn, error) {
	f := FailOn{}
	for _, name := range names {
		if name == "any" {
			for class := range findingCodes {
				if class != verdict.Undecided {
					f[class] = true
				}
			}
			continue
		}
		class := verdict.Class(name)
		if _, ok := findingCodes[class]; !ok {
			return nil, usage.Errorf("--fail-on %s: no such verdict%s", name,
				usage.Suggest(name, FailOnNames()))
		}
		f[class] = true
	}
	return f, nil
}

// FailOnNames are the values that --fail-on takes.
func FailOnNames() []string {
	return []string{"app-leak", "pool-growth", "driver-growth", "host-growth", "undecided", "any"}
}

// AddFailOn defines --fail-on, whose values go to names.
func AddFailOn(flags *pflag.FlagSet, names *[]string) {
	flags.StringSliceVar(names, "fail-on", *names,
		"verdicts that become the exit code (app-leak 3, pool-growth 4, driver-growth 5, host-growth "+
			"6, undecided 7; any: every growth, with 7 where its owner cannot be told)")
}

// Of is the exit code that a verdict is turned into. Growth of which nobody can
// tell whose it is belongs to one of the four accounts, so it counts where all
// four are named, with the code of undecided.
func (f FailOn) Of(v *verdict.Verdict) int {
	if f.everyGrowth() && diagnosis.Unowned(v) != nil {
		return findingCodes[verdict.Undecided]
	}
	return f.Code(v.Verdict)
}

// everyGrowth reports whether any growth is to fail.
func (f FailOn) everyGrowth() bool {
	return f[verdict.AppLeak] && f[verdict.PoolGrowth] && f[verdict.DriverGrowth] && f[verdict.HostGrowth]
}

// Worst is the exit code of the gravest verdict that --fail-on names: those of
// growth in the order of their codes, then undecided. Growth of which nobody
// can tell whose it is belongs to one of the four accounts, so it counts where
// all four are named, with the code of undecided.
func (f FailOn) Worst(o *diagnosis.Observation) int {
	best := 0
	note := func(code int) {
		if code != 0 && (best == 0 || code < best) {
			best = code
		}
	}
	for v, grows := range o.Verdicts() {
		note(f.Code(v.Verdict))
		if grows && f.everyGrowth() && v.Verdict == verdict.Undecided {
			note(findingCodes[verdict.Undecided])
		}
	}
	return best
}
