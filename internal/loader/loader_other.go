//go:build !(darwin || linux || windows) || !(amd64 || arm64) || nodl

package loader

import (
	"errors"
	"runtime"
)

// Open refuses: this build has no way to open a library.
func Open(...string) (Library, error) {
	return Library{}, errors.New("this program was built for " + runtime.GOOS + "/" + runtime.GOARCH +
		" without a way to load it")
}

// Lookup is 0: there are no libraries.
func (l Library) Lookup(string) uintptr { return 0 }

// Call does nothing: there are no functions.
func Call(uintptr, ...uintptr) (result, errno uintptr) { return 0, 0 }

// Close does nothing.
func (l Library) Close() {}
