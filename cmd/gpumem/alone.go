package main

import (
	"context"
	"fmt"
	"os"

	"github.com/gpumem/gpumem/cmd/gpumem/diagnosis"
	"github.com/gpumem/gpumem/cmd/gpumem/naming"
	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/probe/scan"
)

// aloneHelp is the help of `gpumem run --alone`: two programs on one device
// take each other's memory.
const aloneHelp = "refuse to start while another process of mine runs the same executable (exit 1)"

// alone returns an error that lists processes of ours, up to five, which run
// the executable of a target already.
func alone(ctx context.Context, t target) error {
	name := naming.Base(t.command[0])
	s, err := scan.Read(ctx, scan.Options{})
	if err != nil {
		return fmt.Errorf("--alone: %w", err)
	}
	left := diagnosis.LeftOf(s, []string{name}, os.Getpid())
	if len(left) == 0 {
		return nil
	}
	return fmt.Errorf("%s running:%s; end them, or start without --alone", left.Many(plain.Shown(name)),
		left.List())
}
