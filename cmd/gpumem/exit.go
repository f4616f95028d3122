package main

import (
	"errors"
	"fmt"
	"io"
)

// The documented exit codes. A traced program's own code is passed on.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

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
