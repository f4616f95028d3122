//go:build !linux && !darwin

package main

import (
	"errors"
	"io"
	"os"
)

// startKeeper starts none: nothing here keeps a terminal's modes from outside.
func startKeeper(*os.File, string) *keeper { return nil }

func keepTerminal(io.Reader, *os.File, string) error {
	return errors.New("there is no keeper of the terminal on this system")
}
