package soft_test

import (
	"cmp"
	"testing"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/metaltest"
	"github.com/gpumem/gpumem/metal/soft"
)

// It is not parallel: the suite reads the resident size of the process.
func TestTheSoftDeviceKeepsTheContract(t *testing.T) {
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	metaltest.Run(t, func(t *testing.T, f metaltest.Faults) metal.Device {
		return open(t, soft.Options{
			WorkingSet: cmp.Or(f.WorkingSet, 1<<30),
			MaxBuffers: f.MaxBuffers,
			Workers:    3, // whatever the machine has
			Faults: soft.Faults{
				FailAllocation: f.FailAllocation,
				ShrinkAfter:    f.ShrinkAfter,
				ShrinkTo:       f.ShrinkTo,
				NoAutorelease:  f.NoAutorelease,
				CompletionLag:  f.CompletionLag,
			},
		})
	}, metaltest.Abilities{
		Contents:    true,
		Faults:      true,
		Temporaries: func(d metal.Device) int64 { return d.(*soft.Device).TemporaryBytes() },
		Resident:    resident,
	})
}

func open(t testing.TB, o soft.Options) *soft.Device {
	t.Helper()
	dev, err := soft.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return dev
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
