//go:build (linux || windows) && (amd64 || arm64) && !nodl

package cuda

import (
	"runtime"

	"github.com/ebitengine/purego"

	"github.com/gpumem/gpumem/internal/loader"
)

// candidates are the places of the library: the loader's own search first, then
// WSL's and NixOS's, which lie outside it.
func candidates(name string) []string {
	switch {
	case name != "":
		return []string{name}
	case runtime.GOOS == "windows":
		return []string{"nvcuda.dll"}
	}
	return []string{"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1", "/run/opengl-driver/lib/libcuda.so.1"}
}

func openLibrary(name string) (loader.Library, error) {
	l, err := loader.Open(candidates(name)...)
	if err != nil {
		return l, &Error{Op: "load the driver", Text: err.Error(), is: ErrNoDriver,
			Hint: "install the NVIDIA driver, or start the container with GPU access (compute capability)"}
	}
	return l, nil
}

// invoke calls a function of integers and pointers.
//
//go:uintptrescapes
func invoke(fn uintptr, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(fn, args...)
	return r
}
