//go:build (amd64 || arm64) && !nodl

package nvml

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/probe/nvml/nvmltest"
)

func TestASplitDeviceWithoutPrivilegeStillTellsOfItsParts(t *testing.T) {
	t.Parallel()
	l := open(t, nvmltest.Newest, Options{}, deviceA, "part 0 1 0 MIG-aa 1000 10",
		"part 0 2 0 MIG-bb 1000 20",
		"process 0 c 50 100 1 0", "process 0 m 50 100 1 0", "memory_code 0 4", "list_code 0 4")
	d := l.Devices()[0]
	if d.TotalBytes != Unknown || d.UsedBytes != Unknown || len(d.Instances) != 2 ||
		d.Instances[0].UsedBytes != 10 {
		t.Errorf("%+v", d)
	}
	if notes := strings.Join(d.Notes, "\n"); !strings.Contains(notes, "told to root only") {
		t.Errorf("notes %q", notes)
	}
	got, err := l.Processes(0)
	if err != nil || len(got) != 1 || got[0].Kind != Compute|MPS || got[0].GPUInstance != 1 ||
		got[0].Bytes != 100 {
		t.Errorf("%+v, %v", got, err)
	}
}
