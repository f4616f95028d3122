//go:build windows && (amd64 || arm64) && !nodl

package nvml

import (
	"golang.org/x/sys/windows"
)

// candidates are the places of the library: the system folder, where drivers
// since 2019 put it. The search of the current folder is avoided on purpose.
func candidates(name string) []string {
	if name != "" {
		return []string{name}
	}
	return []string{"nvml.dll"}
}

func openLibrary(name string) (uintptr, error) {
	c := candidates(name)[0]
	flags := uintptr(windows.LOAD_LIBRARY_SEARCH_SYSTEM32)
	if name != "" {
		flags = 0
	}
	h, err := windows.LoadLibraryEx(c, 0, flags)
	if err != nil {
		return 0, &Error{Op: "load the library", Device: -1, is: ErrNoLibrary,
			Text: c + ": " + err.Error(), Hint: "install the NVIDIA driver"}
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

// closeLibrary drops the loader's reference; a failure leaves the library
// mapped, which harms nobody.
func closeLibrary(h uintptr) { _ = windows.FreeLibrary(windows.Handle(h)) }
