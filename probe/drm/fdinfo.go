package drm

import (
	"bytes"
	"math"
	"strconv"

	"github.com/gpumem/gpumem/probe/procfs"
)

// Unknown is the value of a quantity that the driver did not print.
const Unknown int64 = -1

// Region is one memory region of a client, named by its driver ("vram",
// "gtt", "system0"). Figures are bytes, Unknown when not printed.
type Region struct {
	Name      string
	Total     int64 // all buffers, backed or not
	Shared    int64 // of these, shared with other clients
	Resident  int64 // backed by memory now
	Purgeable int64 // of these, free for the kernel to take
	Active    int64 // of these, used by work in flight
	Memory    int64 // the older key drm-memory-R, means resident
}

// Bytes is what the region holds: resident where the driver says so, then the
// older key, then the total.
func (r *Region) Bytes() int64 {
	switch {
	case r.Resident != Unknown:
		return r.Resident
	case r.Memory != Unknown:
		return r.Memory
	}
	return r.Total
}

// Local reports whether the region is memory of the device (vram, local, and
// stolen, which the firmware took from the host for good), in contrast to
// pages of the host.
func (r *Region) Local() bool {
	for _, prefix := range [...]string{"vram", "local", "stolen"} {
		if len(r.Name) >= len(prefix) && r.Name[:len(prefix)] == prefix {
			return true
		}
	}
	return false
}

// Info is one fdinfo file.
type Info struct {
	Driver string // empty: not a DRM file
	PDev   string // PCI address 0000:03:00.0, empty for platform devices
	// ClientID tells clients of one device apart; Unknown on drivers that
	// do not print it, whose descriptors cannot be deduplicated.
	ClientID int64
	Name     string // what the client calls itself, mostly empty
	Regions  []Region

	// amdgpu's own keys.
	EvictedVRAM   int64 // pushed out of device memory
	RequestedVRAM int64 // asked to be in device memory
	VisibleVRAM   int64 // part of vram that the host can map; not to be added
	PASID         int64

	// Bad counts lines of memory that could not be understood.
	Bad int
}

// LocalBytes is the device memory of the client, Unknown when the driver
// prints no such region with a figure.
func (i *Info) LocalBytes() int64 { return i.sum(true) }

// HostBytes is the host memory of the client that the device can reach.
func (i *Info) HostBytes() int64 { return i.sum(false) }

func (i *Info) sum(local bool) int64 {
	total := Unknown
	for k := range i.Regions {
		r := &i.Regions[k]
		if b := r.Bytes(); b != Unknown && r.Local() == local {
			total = add(total, b)
		}
	}
	return total
}

// add adds bytes to a total that may be unknown so far; a sum that does not
// fit is unknown again.
func add(total, b int64) int64 {
	if b == Unknown {
		return total
	}
	if total == Unknown {
		return b
	}
	if total > math.MaxInt64-b {
		return Unknown
	}
	return total + b
}

// parse reads b into i, reusing its regions and strings, so that rereading a
// client allocates nothing.
func (i *Info) parse(b []byte) {
	regions := i.Regions[:0]
	*i = Info{Driver: i.Driver, PDev: i.PDev, Name: i.Name, Regions: regions, ClientID: Unknown,
		EvictedVRAM: Unknown, RequestedVRAM: Unknown, VisibleVRAM: Unknown, PASID: Unknown}
	var sawDriver, sawPDev, sawName bool
	for len(b) > 0 {
		var line []byte
		line, b = procfs.Line(b)
		key, value, ok := procfs.Field(line)
		if !ok {
			continue
		}
		switch string(key) {
		case "drm-driver":
			sawDriver = true
			setString(&i.Driver, value)
		case "drm-pdev":
			sawPDev = true
			setString(&i.PDev, value)
		case "drm-client-name":
			sawName = true
			setString(&i.Name, value)
		case "drm-client-id":
			i.ClientID = i.number(value)
		case "pasid":
			i.PASID = i.number(value)
		default:
			i.memory(key, value)
		}
	}
	if !sawDriver {
		i.Driver = ""
	}
	if !sawPDev {
		i.PDev = ""
	}
	if !sawName {
		i.Name = ""
	}
}

// setString stores a value, without allocating when it has not changed.
func setString(s *string, value []byte) {
	if *s != string(value) {
		*s = string(value)
	}
}

// memory reads a line that may tell memory; other lines are none of ours.
func (i *Info) memory(key, value []byte) {
	if rest, ok := bytes.CutPrefix(key, []byte("amd-")); ok {
		switch string(rest) {
		case "evicted-vram":
			i.EvictedVRAM = i.number(value)
		case "requested-vram":
			i.RequestedVRAM = i.number(value)
		case "memory-visible-vram":
			i.VisibleVRAM = i.number(value)
		}
		return
	}
	rest, ok := bytes.CutPrefix(key, []byte("drm-"))
	if !ok {
		return
	}
	kind, name, ok := bytes.Cut(rest, []byte("-"))
	// xe's drm-total-cycles-ENGINE counts clock cycles, not bytes.
	if !ok || len(name) == 0 || bytes.HasPrefix(name, []byte("cycles-")) {
		return
	}
	switch string(kind) {
	case "total":
		i.region(name).Total = i.number(value)
	case "shared":
		i.region(name).Shared = i.number(value)
	case "resident":
		i.region(name).Resident = i.number(value)
	case "purgeable":
		i.region(name).Purgeable = i.number(value)
	case "active":
		i.region(name).Active = i.number(value)
	case "memory":
		i.region(name).Memory = i.number(value)
	}
}

// region finds or makes the region of a name.
func (i *Info) region(name []byte) *Region {
	for k := range i.Regions {
		if i.Regions[k].Name == string(name) {
			return &i.Regions[k]
		}
	}
	n := len(i.Regions)
	if n < cap(i.Regions) && i.Regions[:n+1][n].Name == string(name) {
		i.Regions = i.Regions[:n+1] // the name of the reading before is still there
		i.Regions[n] = emptyRegion(i.Regions[n].Name)
		return &i.Regions[n]
	}
	i.Regions = append(i.Regions, emptyRegion(string(name)))
	return &i.Regions[n]
}

func emptyRegion(name string) Region {
	return Region{name, Unknown, Unknown, Unknown, Unknown, Unknown, Unknown}
}

// number reads a count with its unit: none for bytes, KiB, MiB, GiB. What it
// cannot read is Unknown and counted.
func (i *Info) number(value []byte) int64 {
	n := 0
	var v uint64
	for n < len(value) && value[n] >= '0' && value[n] <= '9' {
		d := uint64(value[n] - '0')
		if v > (math.MaxInt64-d)/10 {
			i.Bad++
			return Unknown
		}
		v = v*10 + d
		n++
	}
	shift := uint(0)
	switch string(bytes.TrimSpace(value[n:])) {
	case "":
	case "KiB":
		shift = 10
	case "MiB":
		shift = 20
	case "GiB":
		shift = 30
	default:
		n = 0
	}
	if n == 0 || v > math.MaxInt64>>shift {
		i.Bad++
		return Unknown
	}
	return int64(v << shift)
}

// clientKey names a client over all processes.
func (i *Info) clientKey() string {
	return i.PDev + "/" + i.Driver + "/" + strconv.FormatInt(i.ClientID, 10)
}
