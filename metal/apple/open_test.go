package apple_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/apple"
)

func mustOpen(t testing.TB, o apple.Options) *apple.Device {
	t.Helper()
	d, err := apple.Open(o)
	must(t, err)
	return d
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestASystemWithoutMetalSaysSo(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "darwin" {
		t.Skip("this system has Metal")
	}
	_, opened := apple.Open(apple.Options{})
	for _, err := range []error{opened, apple.Check(apple.Options{})} {
		if !errors.Is(err, apple.ErrNoMetal) || !errors.Is(err, metal.ErrUnsupported) ||
			!strings.Contains(err.Error(), runtime.GOOS) {
			t.Errorf("error %v, want one that names %s and matches ErrNoMetal", err, runtime.GOOS)
		}
	}
}
