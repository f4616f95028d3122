package device

import (
	"testing"

	"github.com/gpumem/gpumem/workloads"
)

func TestACUDADeviceMayHaveAnIndex(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{
		"cuda": 0, "cuda:0": 0, "cuda:7": 7, "cuda:": -1, "cuda:x": -1, "cuda:-1": -1, "cuda:65536": -1,
		"cuda7": -1, "soft": -1, "": -1,
	} {
		got, ok := CUDAIndex(name)
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %d, %v", name, got, ok)
		}
	}
}

func TestTheSoftDeviceOpensAndTheHostIsNone(t *testing.T) {
	t.Parallel()
	if Opener(Host) != nil {
		t.Error("the host opens a device")
	}
	d, err := Opener(Soft)(workloads.DeviceFaults{})
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Info().Driver; got != Soft {
		t.Errorf("driver %s", got)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}
