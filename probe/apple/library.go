//go:build (darwin || linux) && (amd64 || arm64) && !nodl

package apple

import (
	"runtime"

	"github.com/gpumem/gpumem/internal/loader"
)

// load loads a library and looks the functions up, each into its place. The
// loader finds Apple's in its cache; they are never unloaded, since others use
// them.
func load(path string, functions map[string]*uintptr) error {
	if path == "" {
		return &Error{Op: "load a library of macOS", Text: "this is " + runtime.GOOS, is: ErrUnsupported}
	}
	l, err := loader.Open(path)
	if err != nil {
		return &Error{Op: "load " + path, Text: err.Error(), is: ErrUnsupported}
	}
	for name, place := range functions {
		if *place = l.Lookup(name); *place == 0 {
			return &Error{Op: "look up " + name + " in " + path, Text: "it has none", is: ErrUnsupported}
		}
	}
	return nil
}
