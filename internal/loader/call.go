//go:build (darwin || linux || windows) && (amd64 || arm64) && !nodl

package loader

import "github.com/ebitengine/purego"

// Call calls a function of integers and pointers by its address. Pointers among
// args must be converted in the call expression itself, which keeps their
// objects in place. What errno is means something only when the result says so.
//
//go:uintptrescapes
func Call(fn uintptr, args ...uintptr) (result, errno uintptr) {
	r, _, e := purego.SyscallN(fn, args...)
	return r, e
}
