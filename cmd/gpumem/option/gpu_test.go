package option

import (
	"testing"

	"github.com/gpumem/gpumem/probe/scan"
)

func TestSeveralDevicesAreNamedByTheirColumns(t *testing.T) {
	t.Parallel()
	if got := GPUNames([]scan.Device{{Name: "H200"}}); got != "H200" {
		t.Errorf("one device is %q", got)
	}
	if got := GPUNames([]scan.Device{{Name: "RTX 4070"},
		{Index: 1, Name: "card0 (8086:46a6)"}}); got != "@0 RTX 4070, @1 card0 (8086:46a6)" {
		t.Errorf("two devices are %q", got)
	}
}
