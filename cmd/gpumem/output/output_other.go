//go:build !unix

package output

import (
	"errors"
	"io/fs"
	"os"
)

const noTerminal = 0

func openDescriptor(int) (*os.File, error) {
	return nil, errors.New("descriptors have no path on this system")
}

// mayWrite does not know before the writing.
func mayWrite(string) error { return nil }

func keepOwner(*os.File, fs.FileInfo) {}

// OutlivePipes does nothing: here a pipe that nobody reads is an error only.
func OutlivePipes() {}
