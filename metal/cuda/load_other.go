//go:build !(linux || windows) || !(amd64 || arm64) || nodl

package cuda

import "runtime"

// openLibrary refuses: this build loads no library, or NVIDIA has no driver for
// this system.
func openLibrary(string) (uintptr, error) {
	return 0, &Error{Op: "load the driver", Text: "this program was built for " + runtime.GOOS + "/" + runtime.GOARCH +
		" without a way to load it", is: ErrNoDriver}
}

func lookup(uintptr, string) uintptr { return 0 }

func invoke(uintptr, ...uintptr) uintptr { return uintptr(codeNotSupported) }
