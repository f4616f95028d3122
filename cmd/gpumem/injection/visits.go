package injection

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/gpumem/gpumem/cmd/gpumem/tty"
	"github.com/gpumem/gpumem/cmd/gpumem/usage"
	"github.com/gpumem/gpumem/tracer"
	"github.com/gpumem/gpumem/tracer/agent/python"
	"github.com/gpumem/gpumem/tracer/record"
)

// Nobody is --inject of commands that watch, unless it is given.
const Nobody = "none"

// AgentInterval is between two samples of an agent in a program that is only watched.
const AgentInterval = 200 * time.Millisecond

// AddVisits gives a command that watches processes the flag to enter them.
func AddVisits(flags *pflag.FlagSet, to *string) {
	*to = Nobody
	flags.StringVar(to, "inject", *to, "what goes into the Python programs that are watched, and out again: "+
		"python (an agent that tells what each holds; also --inject alone) or none")
	flags.Lookup("inject").NoOptDefVal = "python"
}

// CheckVisits refuses what is no value of that flag.
func CheckVisits(inject string) error {
	if inject != Nobody && inject != "python" {
		return usage.Errorf("--inject %s: watched programs take python or none", inject)
	}
	return nil
}

// Visiting has agents come into programs, and says so first to a person.
func Visiting(to *os.File, quiet bool, inject string, interval time.Duration, event func(record.Event),
	say func(pid int, text string)) *tracer.Visits {
	if inject == Nobody {
		return nil
	}
	if !quiet && tty.Is(to) {
		fmt.Fprintln(to, "gpumem: an agent goes into each Python program that is watched, for as long as "+
			"this takes, and out again")
	}
	late := python.Late{Interval: interval}
	return tracer.NewVisits(tracer.VisitConfig{Enter: EnterPython(late, false), Event: event, Say: say})
}
