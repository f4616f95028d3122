package main

import (
	"context"
	"fmt"
	"os"

	"github.com/gpumem/gpumem/probe/scan"
)

// aloneHelp is the help of `gpumem run --alone`: two programs on one device
// take each other's memory.
const aloneHelp = "refuse to start while another process of mine runs the same executable (exit 1)"

// alone returns an error that lists processes of ours, up to five, which run
// the executable of a target already.
func alone(ctx context.Context, t target) error {
	name := baseName(t.command[0])
	s, err := scan.Read(ctx, scan.Options{})
	if err != nil {
		return fmt.Errorf("--alone: %w", err)
	}
	left := leftOf(s, []string{name}, os.Getpid())
	if len(left) == 0 {
		return nil
	}
	return fmt.Errorf("%s running:%s; end them, or start without --alone", leftText(left, shown(name)), leftList(left))
}

// leftText is how many processes there are of which names, up to the verb.
func leftText(left []scan.Process, names string) string {
	return plural(len(left), "process of "+names+" is", "processes of "+names+" are")
}

// leftList is up to five processes.
func leftList(left []scan.Process) string {
	const most = 5
	text := ""
	for i, p := range left {
		if i == most {
			text += fmt.Sprintf(" and %d more", len(left)-most)
			break
		}
		state := ""
		if p.State == scan.Zombie {
			state = ", zombie"
		}
		text += fmt.Sprintf(" %d (%s, %s%s)", p.PID, ageText(p.Age), sizeText(p.Footprint()), state)
	}
	return text
}
