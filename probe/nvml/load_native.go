//go:build (linux || windows) && (amd64 || arm64) && !nodl

package nvml

import (
	"runtime"

	"github.com/gpumem/gpumem/internal/loader"
)

// candidates are the places of the library: the loader's own search first, then
// WSL's and NixOS's, which lie outside it; on Windows the system's folder, where
// drivers since 2019 put it.
func candidates(name string) []string {
	switch {
	case name != "":
		return []string{name}
	case runtime.GOOS == "windows":
		return []string{"nvml.dll"}
	}
	return []string{
		"libnvidia-ml.so.1",
		"/usr/lib/wsl/lib/libnvidia-ml.so.1",
		"/run/opengl-driver/lib/libnvidia-ml.so.1",
	}
}

func openLibrary(name string) (loader.Library, error) {
	l, err := loader.Open(candidates(name)...)
	if err != nil {
		return l, &Error{Op: "load the library", Device: -1, is: ErrNoLibrary, Text: err.Error(),
			Hint: "install the NVIDIA driver, or start the container with GPU access (utility capability)"}
	}
	return l, nil
}
