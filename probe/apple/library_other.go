//go:build !(darwin || linux) || !(amd64 || arm64) || nodl

package apple

import "runtime"

func load(string, map[string]*uintptr) error {
	return &Error{Op: "load a library of macOS", is: ErrUnsupported,
		Text: "this program was built for " + runtime.GOOS + "/" + runtime.GOARCH +
			" without a way to load it"}
}
