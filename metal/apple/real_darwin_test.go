//go:build gpu

package apple_test

import (
	"testing"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/apple"
	"github.com/gpumem/gpumem/metal/metaltest"
)

// TestTheDriverKeepsTheContractOnARealGPU is for a Mac: go test -tags gpu.
// OBJC_DEBUG_MISSING_POOLS=YES and MTL_DEBUG_LAYER=1 make the system itself
// complain of what the fake only imitates.
func TestTheDriverKeepsTheContractOnARealGPU(t *testing.T) {
	if err := apple.Check(apple.Options{}); err != nil {
		t.Skip(err)
	}
	metaltest.Run(t, func(t *testing.T, f metaltest.Faults) metal.Device {
		d := mustOpen(t, apple.Options{
			WorkingSet: f.WorkingSet, MaxBuffers: f.MaxBuffers,
			Faults: metal.Faults{
				FailAllocation: f.FailAllocation, ShrinkAfter: f.ShrinkAfter, ShrinkTo: f.ShrinkTo,
				NoAutorelease: f.NoAutorelease, CompletionLag: f.CompletionLag,
			},
		})
		return d
	}, metaltest.Abilities{Contents: true, Faults: true})
}

func TestTheDriversFigureFollowsABuffer(t *testing.T) {
	if err := apple.Check(apple.Options{}); err != nil {
		t.Skip(err)
	}
	d := mustOpen(t, apple.Options{})
	t.Logf("%+v", d.Info())
	before := d.DriverBytes()
	b, err := d.NewBuffer(64<<20, "64 MiB")
	must(t, err)
	if got := d.DriverBytes() - before; got < 64<<20 {
		t.Errorf("64 MiB moved the driver's figure by %d B", got)
	}
	must(t, b.Release())
	if got := d.DriverBytes(); got > before {
		t.Errorf("after the release the driver's figure is %d B, before it was %d B", got, before)
	}
	must(t, d.Close())
}
