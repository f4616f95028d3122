//go:build (linux || windows) && (amd64 || arm64) && !nodl

package nvml

import "github.com/gpumem/gpumem/internal/loader"

// openLibrary opens the library of that name, or where the driver puts it.
func openLibrary(name string) (loader.Library, error) {
	places := loader.NVIDIA("libnvidia-ml.so.1", "nvml.dll")
	if name != "" {
		places = []string{name}
	}
	l, err := loader.Open(places...)
	if err != nil {
		return l, &Error{Op: "load the library", Device: -1, is: ErrNoLibrary, Text: err.Error(),
			Hint: "install the NVIDIA driver, or start the container with GPU access (utility capability)"}
	}
	return l, nil
}
