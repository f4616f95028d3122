package scan

// Device is one GPU. Strings not known are empty, bytes Unknown.
type Device struct {
	Index  int // in Scan.Devices and in Charge.Device
	Source string
	Driver string // nvidia, amdgpu, xe, …
	Name   string
	UUID   string
	PCI    string

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
	// Options.PIDs HeldBytes counts all pids.
	HeldBytes, ElsewhereBytes, UnchargedBytes int64
	Instances                                 []Instance // of NVIDIA's MIG, as far as they are visible; empty when it is not split
	// MPSClients is how many processes use it through NVIDIA's multi-process
	// service, of a scan.
	MPSClients int
	Notes      []string
}
