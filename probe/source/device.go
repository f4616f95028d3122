package source

import "fmt"

// Device is one GPU. Strings not known are empty, bytes Unknown.
type Device struct {
	Index  int    // in the list that it stands in
	Source string // the name of the source
	Driver string // nvidia, amdgpu, xe, …
	// DriverVersion is empty where the driver has none of its own.
	DriverVersion string
	Name          string
	UUID          string
	PCI           string // as the kernel writes it; devices of two sources with the same address are one

	// TotalBytes and UsedBytes are of the device's own memory, used by
	// everyone; ReservedBytes is what the driver keeps for itself, outside of
	// UsedBytes where it is known.
	TotalBytes, UsedBytes, ReservedBytes int64
	// Integrated is set when the device has no memory of its own.
	Integrated bool
	// HeldBytes is what it holds for all processes here together: of its own
	// memory, or of the host's where it has none. ElsewhereBytes is what it
	// holds for pids that are no process here. UnchargedBytes is UsedBytes
	// without both: what is not charged to anybody. They are of a scan; with
	// a choice of pids HeldBytes counts all pids.
	HeldBytes, ElsewhereBytes, UnchargedBytes int64
	// of NVIDIA's MIG, as far as they are visible; empty when it is not split
	Instances []Instance
	// MPSClients is how many processes use it through NVIDIA's multi-process
	// service, of a scan.
	MPSClients int
	// Kinds are UsedBytes by kind of memory, on devices that have several.
	Kinds []Kind
	Notes []string
}

// Kind is what is used of one kind of a device's memory, by the driver's name
// for it.
type Kind struct {
	Name  string
	Bytes int64
}

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

// Complete fills in what d does not know from what another source tells of the
// same device, whose name goes before.
func (d *Device) Complete(more *Device) {
	for _, f := range [...]struct{ to, from *int64 }{
		{&d.TotalBytes, &more.TotalBytes}, {&d.UsedBytes, &more.UsedBytes},
		{&d.ReservedBytes, &more.ReservedBytes},
	} {
		if *f.to == Unknown {
			*f.to = *f.from
		}
	}
	if more.Name != "" {
		d.Name = more.Name + " " + d.Name
	}
	if d.UUID == "" {
		d.UUID = more.UUID
	}
	d.Notes = append(d.Notes[:len(d.Notes):len(d.Notes)], more.Notes...)
}
