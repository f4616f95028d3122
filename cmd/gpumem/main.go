// Command gpumem says whose memory grows in a GPU program. One file is one command, but
// for main, root and exit, and for what run and attach have in common (trace, workload
// flags). What several commands share lies in the folders beside them. This is the only
// place where the project's parts meet.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], stdio{os.Stdin, os.Stdout, os.Stderr}, os.Getenv))
}

// stdio is where a command reads and writes: data on out, talk on err. They
// are files because a traced program gets them as they are.
type stdio struct {
	in       *os.File
	out, err *os.File
}

// run is the whole program: arguments in, exit code out.
func run(ctx context.Context, args []string, std stdio, getenv func(string) string) int {
	root := newRoot(std, getenv)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	return exitCode(err, std.err)
}
