//go:build linux && (amd64 || arm64) && !nodl

package cuda

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
	return []string{"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1", "/run/opengl-driver/lib/libcuda.so.1"}
}

// openLibrary loads the first candidate that loads; the error is the first
// one's, which a person expects to be there. The loader keeps its last error by
// thread.
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
			first = &Error{Op: "load the driver", Text: strings.TrimSpace(err.Error()), is: ErrNoDriver,
				Hint: "install the NVIDIA driver, or start the container with GPU access (compute capability)"}
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

// invoke calls a function of integers and pointers.
//
//go:uintptrescapes
func invoke(fn uintptr, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(fn, args...)
	return r
}
