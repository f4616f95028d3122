package scan

import (
	"cmp"
	"slices"
	"testing"
)

func TestALaptopsTwoGPUsChargeTheSameProcessEachForItself(t *testing.T) {
	t.Parallel()
	m := newTree(t)
	m.process(42, "game", "S", 0, 100, "")
	m.process(43, "browser", "S", 0, 100, "")
	m.File("sys/class/drm/card0/device/uevent", "DRIVER=i915\nPCI_SLOT_NAME=0000:00:02.0\n")
	m.File("sys/class/drm/card1/device/uevent", "DRIVER=nvidia\nPCI_SLOT_NAME=0000:01:00.0\n")
	for pid, id := range map[int]string{42: "3", 43: "4"} {
		m.FD(pid, 7, "/dev/dri/card0", "drm-driver:\ti915\ndrm-pdev:\t0000:00:02.0\ndrm-client-id:\t"+
			id+"\ndrm-resident-system0:\t64 KiB\n")
	}
	src := m.sources("device RTX GPU-aa 00000000:01:00.0 8000000 900000 5000", "process 0 g 42 300000")
	s := m.read(Options{Sources: src})
	if len(s.Devices) != 2 || s.Devices[0].Source != NVML || s.Devices[1].Driver != "i915" {
		t.Fatalf("devices %+v", s.Devices)
	}
	if p := find(t, s, 42); len(p.GPU) != 2 || p.GPUBytes() != 300000+64<<10 {
		t.Errorf("charged %+v", p.GPU)
	}
	if s.Devices[0].HeldBytes != 300000 || s.Devices[1].HeldBytes != 2*64<<10 {
		t.Errorf("held %d and %d", s.Devices[0].HeldBytes, s.Devices[1].HeldBytes)
	}
	r := src.Reader()
	defer r.Close()
	got, err := r.Read([]int{42, 43}, nil)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(got, func(a, b Charge) int { return cmp.Or(a.PID-b.PID, a.Device-b.Device) })
	if len(got) != 3 || got[0].Bytes() != 300000 || got[0].Device != 0 || got[1].Bytes() != 64<<10 ||
		got[1].Device != 1 || got[2].PID != 43 {
		t.Errorf("read again and again: %+v", got)
	}
}
