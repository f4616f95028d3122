//go:build linux && (amd64 || arm64)

package e2e

import (
	"runtime"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/cmd/gpumem/device"
	"github.com/gpumem/gpumem/metal/apple/appletest"
	"github.com/gpumem/gpumem/workloads"
)

// TestTheWorkloadsComputeOnAppleWhatTheyComputeOnSoft runs them on the fake of
// Metal, which executes the kernels' one source. Without its autorelease pools
// the driver grows as the investigation's did.
func TestTheWorkloadsComputeOnAppleWhatTheyComputeOnSoft(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	library, err := appletest.Make(t.TempDir(), runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	env := device.MetalLibrary + "=" + library
	slow := device.MetalLibrary + "=" + appletest.Copy(t, library, "lag_us 20000") // as of the driver's stub
	for _, c := range []struct {
		args  string
		truth workloads.Fault
	}{
		{"nqueens --attempts=2", workloads.Fault{Truth: "none"}},
		{"nqueens --fault=no-autorelease-pool --attempts=2",
			workloads.Fault{Truth: "driver-growth", Cause: "missing-autorelease-pool"}},
		{"nqueens --fault=uncut-graph --attempts=2", workloads.Fault{Truth: "app-leak", Cause: "uncut-autograd-graph"}},
		{"xor --runs=3", workloads.Fault{Truth: "none"}},
		{"xor --fault=no-flush --runs=2", workloads.Fault{Truth: "app-leak", Cause: "command-buffer-backlog"}},
		{"modelload --scale=4", workloads.Fault{Truth: "none"}},
		{"generate --requests=60", workloads.Fault{Truth: "none"}},
	} {
		t.Run(c.args, func(t *testing.T) {
			on := env
			if c.truth.Cause == "command-buffer-backlog" {
				on = slow
			}
			likeOnSoft(t, on, device.Apple, "Fake M1", strings.Fields(c.args), c.truth)
		})
	}
}
