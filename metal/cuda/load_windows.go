//go:build windows && (amd64 || arm64) && !nodl

package cuda

import (
	"github.com/ebitengine/purego"
	"golang.org/x/sys/windows"
)

// openLibrary loads the library of the system folder, where drivers put it; the
// search of the current folder is avoided on purpose.
func openLibrary(name string) (uintptr, error) {
	flags := uintptr(0)
	if name == "" {
		name, flags = "nvcuda.dll", windows.LOAD_LIBRARY_SEARCH_SYSTEM32
	}
	h, err := windows.LoadLibraryEx(name, 0, flags)
	if err != nil {
		return 0, &Error{Op: "load the driver", Text: name + ": " + err.Error(), Hint: "install the NVIDIA driver", is: ErrNoDriver}
	}
	return uintptr(h), nil
}

func lookup(h uintptr, name string) uintptr {
	p, err := windows.GetProcAddress(windows.Handle(h), name)
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
