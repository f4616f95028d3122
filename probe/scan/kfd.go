package scan

import (
	"errors"
	"fmt"

	"github.com/gpumem/gpumem/probe/kfd"
)

func (s *Sources) openKFD() error {
	r, err := kfd.Open(s.root)
	if err != nil {
		return err
	}
	nodes := r.Nodes()
	if len(nodes) == 0 {
		return errors.New("kfd: the driver is here and its topology has no GPU")
	}
	s.kfd = r
	for _, n := range nodes {
		if i, known := s.byPCI[n.PCI]; known && n.PCI != "" {
			d := &s.devices[i]
			if d.TotalBytes == Unknown {
				d.TotalBytes = n.VRAMBytes
			}
			if n.Name != "" {
				d.Name = n.Name + " " + d.Name
			}
			continue
		}
		pci := n.PCI
		if pci == "" {
			pci = fmt.Sprintf("kfd-%d", n.GPUID)
		}
		s.add(Device{Source: KFD, Driver: "amdgpu", Name: n.Name, PCI: pci,
			TotalBytes: n.VRAMBytes, UsedBytes: Unknown, ReservedBytes: Unknown})
	}
	return nil
}

// chargeKFD comes after chargeDRM: a ROCm process is in both, with the same
// buffers, and the greater figure counts.
func (s *Sources) chargeKFD(c *charges) {
	if s.kfd == nil {
		return
	}
	processes, err := s.kfd.Processes()
	if err != nil {
		c.warnings = append(c.warnings, fmt.Sprintf("kfd: %v", err))
	}
	for _, p := range processes {
		for _, u := range p.GPUs {
			i, ok := s.computeDevice(u)
			if !ok || u.VRAMBytes == Unknown {
				continue
			}
			n := Charge{PID: p.PID, Device: i, LocalBytes: u.VRAMBytes, HostBytes: Unknown}
			more := n.LocalBytes
			if s.foreign {
				c.outer = append(c.outer, n)
			} else {
				c.list, more = raise(c.list, n)
			}
			c.held[i] = sum(c.held[i], more)
		}
	}
}

// raise sees to it that a process is charged no less than c, and tells by how
// much its charge grew.
func raise(list []Charge, c Charge) ([]Charge, int64) {
	for i := range list {
		old := &list[i]
		if old.PID != c.PID || old.Device != c.Device {
			continue
		}
		before := max(old.LocalBytes, 0)
		old.LocalBytes = max(before, c.LocalBytes)
		return list, old.LocalBytes - before
	}
	return append(list, c), c.LocalBytes
}

// computeDevice is the device that the compute driver calls by its own number.
func (s *Sources) computeDevice(u kfd.Usage) (int, bool) {
	if u.PCI == "" {
		return s.device(fmt.Sprintf("kfd-%d", u.GPUID), "")
	}
	return s.device(u.PCI, "")
}
