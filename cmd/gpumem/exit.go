package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/gpumem/gpumem/report/verdict"
)

// The documented exit codes. A traced program's own code is passed on.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// findingCodes are the exit codes that --fail-on turns a verdict into.
var findingCodes = map[verdict.Class]int{
	verdict.AppLeak:      3,
	verdict.PoolGrowth:   4,
	verdict.DriverGrowth: 5,
	verdict.HostGrowth:   6,
	verdict.Undecided:    7,
}

// usageError is something the user wrote wrong: exit code 2, one line.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// codeError ends the program with a code and without a word: everything there
// was to say has been said.
type codeError struct{ code int }

func (e *codeError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// exitCode prints what err has to say and returns the code to end with.
func exitCode(err error, w io.Writer) int {
	var code *codeError
	var usage *usageError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &code):
		return code.code
	case errors.As(err, &usage):
		fmt.Fprintf(w, "gpumem: %v\n", err)
		return exitUsage
	default:
		fmt.Fprintf(w, "gpumem: %v\n", err)
		return exitFailed
	}
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
