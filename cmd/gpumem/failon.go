package main

import (
	"github.com/gpumem/gpumem/cmd/gpumem/diagnosis"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/spf13/pflag"
)

// findingCodes are the exit codes that --fail-on turns a verdict into.
var findingCodes = map[verdict.Class]int{
	verdict.AppLeak:      3,
	verdict.PoolGrowth:   4,
	verdict.DriverGrowth: 5,
	verdict.HostGrowth:   6,
	verdict.Undecided:    7,
}

// failOn is the value of --fail-on: the verdicts that end with their code.
type failOn map[verdict.Class]bool

func (f failOn) code(v verdict.Class) int {
	if f[v] {
		return findingCodes[v]
	}
	return exitDone
}

func parseFailOn(names []string) (failOn, error) {
	f := failOn{}
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
			return nil, usagef("--fail-on %s: no such verdict%s", name, suggest(name, classNames()))
		}
		f[class] = true
	}
	return f, nil
}

func classNames() []string {
	return []string{"app-leak", "pool-growth", "driver-growth", "host-growth", "undecided", "any"}
}

func addFailOn(flags *pflag.FlagSet, names *[]string) {
	flags.StringSliceVar(names, "fail-on", *names,
		"verdicts that end with their exit code (app-leak 3, pool-growth 4, driver-growth 5, host-growth "+
			"6, undecided 7; any: every growth, with 7 where its owner cannot be told)")
}

// of is the exit code that a verdict is turned into. Growth of which nobody can
// tell whose it is belongs to one of the four accounts, so it counts where all
// four are named, with the code of undecided.
func (f failOn) of(v *verdict.Verdict) int {
	if f.everyGrowth() && diagnosis.Unowned(v) != nil {
		return findingCodes[verdict.Undecided]
	}
	return f.code(v.Verdict)
}

// everyGrowth reports whether any growth is to fail.
func (f failOn) everyGrowth() bool {
	return f[verdict.AppLeak] && f[verdict.PoolGrowth] && f[verdict.DriverGrowth] && f[verdict.HostGrowth]
}

// worst is the exit code of the gravest verdict that --fail-on names: those of
// growth in the order of their codes, then undecided. Growth of which nobody
// can tell whose it is belongs to one of the four accounts, so it counts where
// all four are named, with the code of undecided.
func (f failOn) worst(o *diagnosis.Observation) int {
	best := exitDone
	note := func(code int) {
		if code != exitDone && (best == exitDone || code < best) {
			best = code
		}
	}
	for v, grows := range o.Verdicts() {
		note(f.code(v.Verdict))
		if grows && f.everyGrowth() && v.Verdict == verdict.Undecided {
			note(findingCodes[verdict.Undecided])
		}
	}
	return best
}
