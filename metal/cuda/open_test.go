package cuda_test

import (
	"testing"

	"github.com/gpumem/gpumem/metal/cuda"
)

func mustOpen(t testing.TB, o cuda.Options) *cuda.Device {
	t.Helper()
	dev, err := cuda.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return dev
}
