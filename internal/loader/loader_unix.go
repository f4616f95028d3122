//go:build (darwin || linux) && (amd64 || arm64) && !nodl

package loader

import (
	"errors"
	"runtime"
	"strings"

	"github.com/ebitengine/purego"
)

// Open opens the first of the candidates that can be opened, by name as the
// system's loader searches it or by path. The error is that of the first, which
// a person expects to be there, in the loader's own words.
func Open(candidates ...string) (Library, error) {
	runtime.LockOSThread() // the loader keeps its last error by thread
	defer runtime.UnlockOSThread()
	var first error
	for _, name := range candidates {
		h, err := purego.Dlopen(name, purego.RTLD_LAZY|purego.RTLD_LOCAL)
		if err == nil {
			return Library{h}, nil
		}
		if first == nil {
			first = errors.New(strings.TrimSpace(err.Error()))
		}
	}
	return Library{}, first
}

// Lookup is the address of a symbol, 0 when the library has none of that name.
func (l Library) Lookup(symbol string) uintptr {
	p, err := purego.Dlsym(l.handle, symbol)
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
		_ = purego.Dlclose(l.handle)
	}
}
