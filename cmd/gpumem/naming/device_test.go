package naming

import (
	"testing"

	"github.com/gpumem/gpumem/probe/scan"
)

func TestADeviceIsCalledWhatTheFlagTakes(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]scan.Device{
		"cuda:1": {Source: scan.NVML, Index: 1}, "apple": {Source: scan.Apple},
		"gpu:1": {Source: scan.Apple, Index: 1},
		"gpu:2": {Source: scan.DRM, Index: 2},
	} {
		if got := Device(&d); got != want {
			t.Errorf("%+v is called %s, want %s", d, got, want)
		}
	}
}
