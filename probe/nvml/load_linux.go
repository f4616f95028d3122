//go:build linux && (amd64 || arm64) && !nodl

package nvml

import (
	"runtime"
	"strings"

	"github.com/ebitengine/purego"
)

// candidates are the places of the library: the loader's own search first,
// then WSL's and NixOS's, which lie outside it.
func candidates(name string) []string {
	if name != "" {
		return []string{name}
	}
	return []string{
		"libnvidia-ml.so.1",
		"/usr/lib/wsl/lib/libnvidia-ml.so.1",
		"/run/opengl-driver/lib/libnvidia-ml.so.1",
	}
}

// openLibrary loads the first candidate that loads; the error is the first
// candidate's, since that is the one a person expects to be there. The loader
// keeps its last error by thread, so we must not change ours in between.
func openLibrary(name string) (uintptr, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var first error
	for _, c := range candidates(name) {
		h, err := purego.Dlopen(c, purego.RTLD_LAZY|purego.RTLD_LOCAL)
		if err == nil {
			return h, nil
		}
		if first == nil {
			first = &Error{Op: "load the library", Device: -1, is: ErrNoLibrary,
				Text: strings.TrimSpace(err.Error()),
				Hint: "install the NVIDIA driver, or start the container with GPU access (utility capability)"}
		}
	}
	return 0, first
}

func lookup(h uintptr, name string) uintptr {
	p, err := purego.Dlsym(h, name)
	if err != nil {
		return 0
	}
	return p
}

// closeLibrary drops the loader's reference; a failure leaves the library
// mapped, which harms nobody.
func closeLibrary(h uintptr) { _ = purego.Dlclose(h) }
