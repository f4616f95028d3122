package scan

import (
	"fmt"

	"github.com/gpumem/gpumem/probe/nvml"
)

// Instance is one part of a split device. Parts of one GPU instance share its
// memory: each has its TotalBytes and UsedBytes.
type Instance struct {
	GPU, Compute          int // numbers of the GPU instance and of the compute instance in it
	UUID                  string
	TotalBytes, UsedBytes int64
	HeldBytes             int64 // for all processes together, of a scan
}

// Name is what NVIDIA's tools call it on its device.
func (i *Instance) Name() string { return fmt.Sprintf("MIG %d/%d", i.GPU, i.Compute) }

// Capacity is the most memory that one process can have there: of a split device
// a part's, Unknown where the parts differ.
func (d *Device) Capacity() int64 {
	if len(d.Instances) == 0 {
		return d.TotalBytes
	}
	for _, i := range d.Instances {
		if i.TotalBytes != d.Instances[0].TotalBytes {
			return Unknown
		}
	}
	return d.Instances[0].TotalBytes
}

// instances are the parts of a device of NVIDIA's library.
func instances(parts []nvml.Instance) []Instance {
	var list []Instance
	for _, p := range parts {
		list = append(list, Instance{GPU: p.GPUInstance, Compute: p.ComputeInstance, UUID: p.UUID,
			TotalBytes: p.TotalBytes, UsedBytes: p.UsedBytes, HeldBytes: Unknown})
	}
	return list
}

// part is one part of a split device.
type part struct{ device, gpu, compute int }

// divide tells what the parts of split devices hold, and who comes through the
// multi-process service.
func (s *Scan) divide(all *charges) {
	for i := range s.Devices {
		d := &s.Devices[i]
		d.MPSClients = all.clients[i]
		for k := range d.Instances {
			if p := &d.Instances[k]; !all.silent[i] {
				p.HeldBytes = all.parts[part{i, p.GPU, p.Compute}]
			}
		}
	}
}
