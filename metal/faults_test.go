package metal_test

import (
	"errors"
	"testing"

	"github.com/gpumem/gpumem/metal"
)

func TestNegativeFaultsAreRefused(t *testing.T) {
	t.Parallel()
	for _, f := range []metal.Faults{{FailAllocation: -1}, {ShrinkAfter: -1}, {CompletionLag: -1}} {
		if err := f.Check(); !errors.Is(err, metal.ErrInvalid) {
			t.Errorf("%+v: error %v", f, err)
		}
	}
	if err := (&metal.Faults{FailAllocation: 1, ShrinkAfter: 1, NoAutorelease: true,
		CompletionLag: 1}).Check(); err != nil {
		t.Error(err)
	}
}
