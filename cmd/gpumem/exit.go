package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/gpumem/gpumem/cmd/gpumem/usage"
)

// The documented exit codes. A traced program's own code is passed on.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// usagef is the error for what the user wrote wrong: exit code 2, one line.
func usagef(format string, args ...any) error { return usage.Errorf(format, args...) }

// codeError ends the program with a code and without a word: everything there
// was to say has been said.
type codeError struct{ code int }

func (e *codeError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// exitCode prints what err has to say and returns the code to end with.
func exitCode(err error, w io.Writer) int {
	var code *codeError
	var wrong *usage.Error
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &code):
		return code.code
	case errors.As(err, &wrong):
		fmt.Fprintf(w, "gpumem: %v\n", err)
		return exitUsage
	default:
		fmt.Fprintf(w, "gpumem: %v\n", err)
		return exitFailed
	}
}
