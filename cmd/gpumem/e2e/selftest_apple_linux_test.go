//go:build linux && (amd64 || arm64)

package e2e

import (
	"runtime"
	"testing"

	"github.com/gpumem/gpumem/cmd/gpumem/device"
	"github.com/gpumem/gpumem/cmd/gpumem/selftest"
	"github.com/gpumem/gpumem/metal/apple/appletest"
)

func TestSelftestChecksAMetalDeviceOnTheFake(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	library, err := appletest.Make(t.TempDir(), runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	r, got := checked(t, []string{device.MetalLibrary + "=" + library}, "--device", "apple", "--gpu",
		"none", "--size", "32MiB")
	if got.code != 0 {
		t.Errorf("exit code %d\n%s", got.code, got.stdout)
	}
	for _, check := range []string{
		"allocates 32.0 MiB and runs a kernel", "the driver's counter grows", "the driver's counter falls",
		"footprint grows",
		"footprint falls", "survives Metal's debug layer", "no object without an autorelease pool",
	} {
		if c := find(r, "apple: ", check); c == nil || c.Result != selftest.OK {
			t.Errorf("%s: %+v", check, c)
		}
	}
}
