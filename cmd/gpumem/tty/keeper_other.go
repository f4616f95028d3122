//go:build !linux && !darwin

package tty

import (
	"errors"
	"io"
	"os"
)

// Start starts none: nothing here keeps a terminal's modes from outside.
func Start(*os.File, string) *Keeper { return nil }

// Serve refuses: no [Start] has asked for it.
func Serve(io.Reader, *os.File, string) error {
	return errors.New("there is no keeper of the terminal on this system")
}
