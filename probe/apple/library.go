//go:build (darwin || linux) && (amd64 || arm64) && !nodl

package apple

import (
	"runtime"

	"github.com/ebitengine/purego"

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

// invoke calls a function of integers and pointers; errno is worth looking at
// only when the result says that it is.
//
//go:uintptrescapes
func invoke(fn uintptr, args ...uintptr) (result, errno uintptr) {
	r, _, e := purego.SyscallN(fn, args...)
	return r, e
}
