//go:build (linux || windows) && (amd64 || arm64) && !nodl

package cuda

import "github.com/gpumem/gpumem/internal/loader"

// openLibrary opens the library of that name, or where the driver puts it.
func openLibrary(name string) (loader.Library, error) {
	places := loader.NVIDIA("libcuda.so.1", "nvcuda.dll")
	if name != "" {
		places = []string{name}
	}
	l, err := loader.Open(places...)
	if err != nil {
		return l, &Error{Op: "load the driver", Text: err.Error(), is: ErrNoDriver,
			Hint: "install the NVIDIA driver, or start the container with GPU access (compute capability)"}
	}
	return l, nil
}
