//go:build windows && (amd64 || arm64) && !nodl

package loader

import (
	"fmt"
	"strings"

	"golang.org/x/sys/windows"
)

// Open opens the first of the candidates that can be opened: a bare name in the
// system's folder, where drivers put theirs, and nowhere else, so that no file of
// the current folder is taken for one. The error is that of the first, which a
// person expects to be there.
func Open(candidates ...string) (Library, error) {
	var first error
	for _, name := range candidates {
		flags := uintptr(windows.LOAD_LIBRARY_SEARCH_SYSTEM32)
		if strings.ContainsAny(name, `\/`) {
			flags = 0
		}
		h, err := windows.LoadLibraryEx(name, 0, flags)
		if err == nil {
			return Library{uintptr(h)}, nil
		}
		if first == nil {
			first = fmt.Errorf("%s: %w", name, err)
		}
	}
	return Library{}, first
}

// Lookup is the address of a symbol, 0 when the library has none of that name.
func (l Library) Lookup(symbol string) uintptr {
	p, err := windows.GetProcAddress(windows.Handle(l.handle), symbol)
	if err != nil || l.handle == 0 {
		return 0
	}
	return p
}

// Close gives the library back to the loader, which unloads it when nobody else
// uses it; a failure leaves it mapped, which harms nobody. No function of it may
// run any more.
func (l Library) Close() {
	if l.handle != 0 {
		_ = windows.FreeLibrary(windows.Handle(l.handle))
	}
}
