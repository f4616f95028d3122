package scan

import (
	"reflect"
	"testing"
)

// split is a device of 4 GB in three parts, of which two share a memory, with
// three processes.
var split = []string{
	"device A100 GPU-aa 00000000:65:00.0 4000000000 900000000 5000",
	"part 0 1 0 MIG-aa 1000000000 200000000", "part 0 2 0 MIG-bb 2000000000 700000000",
	"part 0 2 1 MIG-cc 2000000000 700000000",
	"process 0 c 41 200000000 1 0", "process 0 c 42 300000000 2 0", "process 0 c 43 400000000 2 1",
}

func bytesOf(t *testing.T, s *Scan, pid int) int64 {
	t.Helper()
	p := find(t, s, pid)
	return p.GPUBytes()
}

func TestThePartsOfASplitDeviceAreToldApart(t *testing.T) {
	t.Parallel()
	for name, conf := range map[string][]string{
		"as root":           split,
		"without privilege": append(split[:len(split):len(split)], "memory_code 0 4", "list_code 0 4"),
	} {
		m := newTree(t)
		for _, pid := range []int{41, 42, 43} {
			m.process(pid, "train", "S", 0, 100, "")
		}
		s := m.read(Options{Sources: m.sources(conf...)})
		want := []Instance{
			{GPU: 1, Compute: 0, UUID: "MIG-aa", TotalBytes: 1000000000, UsedBytes: 200000000,
				HeldBytes: 200000000},
			{GPU: 2, Compute: 0, UUID: "MIG-bb", TotalBytes: 2000000000, UsedBytes: 700000000,
				HeldBytes: 300000000},
			{GPU: 2, Compute: 1, UUID: "MIG-cc", TotalBytes: 2000000000, UsedBytes: 700000000,
				HeldBytes: 400000000},
		}
		d := s.Devices[0]
		if !reflect.DeepEqual(d.Instances, want) {
			t.Errorf("%s: parts %+v", name, d.Instances)
		}
		if d.HeldBytes != 900000000 || bytesOf(t, s, 43) != 400000000 {
			t.Errorf("%s: the device holds %d, 400 MB of them for 43: %d", name, d.HeldBytes,
				bytesOf(t, s, 43))
		}
		if known := d.UsedBytes != Unknown; known != (name == "as root") ||
			known != (d.UnchargedBytes != Unknown) {
			t.Errorf("%s: used %d, not charged %d", name, d.UsedBytes, d.UnchargedBytes)
		}
	}
}

func TestAProcessCanHaveNoMoreThanItsPart(t *testing.T) {
	t.Parallel()
	part := func(total int64) Instance { return Instance{TotalBytes: total} }
	for want, d := range map[int64]Device{
		4000:    {TotalBytes: 4000},
		1000:    {TotalBytes: 4000, Instances: []Instance{part(1000), part(1000)}},
		Unknown: {TotalBytes: 4000, Instances: []Instance{part(1000), part(2000)}},
	} {
		if got := d.Capacity(); got != want {
			t.Errorf("%+v: %d, want %d", d, got, want)
		}
	}
}

// The service lists its clients; the driver lists them a second time as what
// computes, with the same bytes.
func TestClientsOfTheMultiProcessServiceAreChargedOnce(t *testing.T) {
	t.Parallel()
	m := newTree(t)
	m.process(40, "nvidia-cuda-mps", "S", 0, 100, "")
	m.process(41, "train", "S", 0, 100, "")
	m.process(42, "serve", "S", 0, 100, "")
	s := m.read(Options{Sources: m.sources("device A GPU-aa 00000000:65:00.0 1000000 960000 5000",
		"process 0 c 40 30000", "process 0 c 41 500000", "process 0 m 41 500000", "process 0 m 42 400000")})
	d := s.Devices[0]
	if d.MPSClients != 2 || d.HeldBytes != 930000 || d.UnchargedBytes != 30000 {
		t.Errorf("%d clients, %d held, %d not charged", d.MPSClients, d.HeldBytes, d.UnchargedBytes)
	}
	for pid, want := range map[int]int64{40: 30000, 41: 500000, 42: 400000} {
		if got := bytesOf(t, s, pid); got != want {
			t.Errorf("process %d: %d bytes, want %d", pid, got, want)
		}
	}
	if s := m.read(Options{Sources: m.sources("device A GPU-aa 00000000:65:00.0 1000000 960000 5000",
		"list_code 0 15")}); s.Devices[0].MPSClients != 0 {
		t.Errorf("clients of a device that is lost: %d", s.Devices[0].MPSClients)
	}
}
