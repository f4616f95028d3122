//go:build !(linux || windows) || !(amd64 || arm64) || nodl

package cuda

import (
	"runtime"

	"github.com/gpumem/gpumem/internal/loader"
)

// openLibrary refuses: this build loads no library, or NVIDIA has no driver for
// this system.
func openLibrary(string) (loader.Library, error) {
	return loader.Library{}, &Error{Op: "load the driver",
		Text: "this program was built for " + runtime.GOOS + "/" + runtime.GOARCH +
			" without a way to load it", is: ErrNoDriver}
}
