package naming

import (
	"strconv"
	"strings"

	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/probe/scan"
)

// Device is what --device calls it, or the number that columns and diagnose give it
// where no workload runs on such devices.
func Device(d *scan.Device) string {
	switch {
	case d.Source == scan.NVML:
		return "cuda:" + strconv.Itoa(d.Index)
	case d.Source == scan.Apple && d.Index == 0:
		return "apple"
	}
	return "gpu:" + strconv.Itoa(d.Index)
}

// DeviceLine is its name, driver, address and identity in a line.
func DeviceLine(d *scan.Device) string {
	text := strings.TrimSpace(strings.TrimSpace(d.Name+" · "+d.Driver) + " " + d.DriverVersion)
	if d.PCI != "" {
		text += " · " + d.PCI
	}
	if d.UUID != "" {
		text += " · " + d.UUID
	}
	return plain.Shown(text)
}

// Part is the identity of part k of a device, after whose memory it has when that
// is not its own.
func Part(d *scan.Device, k int) string {
	p := &d.Instances[k]
	for i := range d.Instances[:k] {
		if first := &d.Instances[i]; first.GPU == p.GPU {
			return "memory of " + first.Name() + ", " + plain.Shown(p.UUID)
		}
	}
	return plain.Shown(p.UUID)
}

// DeviceTitle is a device's address, driver and name, the driver only where the
// name does not say it.
func DeviceTitle(d *scan.Device) string {
	words := []string{d.PCI, d.Driver, d.Name}
	if strings.Contains(strings.ToLower(d.Name), d.Driver) {
		words[1] = ""
	}
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}

// Absent is the line of a source that is not here, with help what may be done
// about it.
func Absent(a scan.Absence, help bool) string {
	why := strings.TrimPrefix(a.Err.Error(), a.Source+": ")
	for _, known := range [...]string{"unsupported operation: ", "load the library: "} {
		why = strings.TrimPrefix(why, known)
	}
	if !help {
		why, _, _ = strings.Cut(why, ";")
	}
	return a.Source + " not available: " + plain.Shown(why)
}
