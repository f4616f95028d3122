package drm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/probe/source"
)

// SourceName is the source's name.
const SourceName = "drm"

// OpenSource opens the kernel's graphics drivers as a source of GPU bytes; root
// is as in Options. A machine without a card that tells anything is an error.
func OpenSource(root string) (source.Source, error) {
	s := &cards{root: root, at: map[[2]string]int{}}
	list, err := Devices(root)
	if err != nil {
		return nil, err
	}
	telling := slices.DeleteFunc(slices.Clone(list), func(d Device) bool {
		return strings.HasPrefix(d.Driver, "nvidia") || d.Driver == "" && d.PDev == ""
	})
	slices.SortStableFunc(telling, func(a, b Device) int { return cmp.Compare(a.PDev, b.PDev) })
	for i := range telling {
		s.add(cardOf(&telling[i]))
	}
	for _, a := range accelerators(root) {
		s.add(a)
	}
	if len(s.devices) == 0 && len(list) > 0 {
		return nil, errors.New(
			"drm: the cards in /sys/class/drm have a driver that tells nothing there (NVIDIA's)")
	}
	if len(s.devices) == 0 {
		return nil, errors.New("drm: no graphics card in /sys/class/drm")
	}
	if s.index, err = Open(Options{Root: root}); err != nil {
		return nil, err
	}
	return s, nil
}

// cards are the kernel's graphics drivers as a source.
type cards struct {
	root    string
	index   *Index
	devices []source.Device
	at      map[[2]string]int // number of a device by its place
}

// placeOf is the place of a device: its PCI address, else its driver, since there
// is one device of the platform for a driver.
func placeOf(pci, driver string) [2]string {
	if pci != "" {
		driver = ""
	}
	return [2]string{pci, driver}
}

// add takes a device in under the next number, unless it has one.
func (s *cards) add(d source.Device) {
	place := placeOf(d.PCI, d.Driver)
	if _, known := s.at[place]; known {
		return
	}
	d.Index = len(s.devices)
	s.at[place] = d.Index
	s.devices = append(s.devices, d)
}

// cardOf puts a card of sysfs into the shared type.
func cardOf(c *Device) source.Device {
	name := c.Card
	if c.Vendor != "" && c.Model != "" {
		name = fmt.Sprintf("%s (%s:%s)", c.Card, strings.TrimPrefix(c.Vendor, "0x"),
			strings.TrimPrefix(c.Model, "0x"))
	}
	return source.Device{
		Source: SourceName, Driver: c.Driver, Name: name, PCI: c.PDev, Notes: c.Notes,
		TotalBytes: c.VRAMTotal, UsedBytes: c.VRAMUsed, ReservedBytes: Unknown,
		Integrated: integrated(c.Driver),
	}
}

// integrated reports whether a driver serves devices without memory of their
// own only. Those that serve both kinds are told apart by what they print.
func integrated(driver string) bool {
	switch driver {
	case "msm", "msm_dpu", "panfrost", "panthor", "lima", "v3d", "vc4", "etnaviv", "amdxdna":
		return true
	}
	return false
}

// accelerators are the devices of the kernel's other class of such drivers,
// which print the same figures (amdxdna, ivpu, …).
func accelerators(root string) []source.Device {
	if root == "" {
		root = "/"
	}
	// the pattern is good
	paths, _ := filepath.Glob(filepath.Join(root, "sys/class/accel/accel*/device/uevent"))
	var list []source.Device
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		d := source.Device{Source: SourceName, Name: filepath.Base(filepath.Dir(filepath.Dir(path))),
			Integrated: true,
			TotalBytes: Unknown, UsedBytes: Unknown, ReservedBytes: Unknown}
		if d.Driver, d.PCI = parseUevent(string(b)); d.Driver != "" {
			list = append(list, d)
		}
	}
	return list
}

func (s *cards) Name() string     { return SourceName }
func (s *cards) Limits() []string { return nil }
func (s *cards) Close() error     { return s.index.Close() }

func (s *cards) Devices(context.Context) []source.Device {
	list := slices.Clone(s.devices)
	now, err := Devices(s.root)
	if err == nil && s.index.isClosed() {
		err = ErrClosed
	}
	for i := range list {
		list[i].Notes = slices.Clone(list[i].Notes)
		list[i].UsedBytes = Unknown
		if err != nil {
			list[i].Notes = append(list[i].Notes, err.Error())
		}
	}
	if err != nil {
		return list
	}
	for i := range now {
		if k, ok := s.at[placeOf(now[i].PDev, now[i].Driver)]; ok {
			list[k].UsedBytes = now[i].VRAMUsed
		}
	}
	return list
}

func (s *cards) Charges(context.Context, []int) source.Holdings {
	h := source.Holdings{Devices: make([]source.Held, len(s.devices))}
	scan, err := s.index.Scan()
	if err != nil {
		h.Warnings = append(h.Warnings, fmt.Sprintf("drm: %s", strings.TrimPrefix(err.Error(), "drm: ")))
		for i := range h.Devices {
			h.Devices[i] = source.Held{Bytes: Unknown, Silent: true}
		}
	}
	h.Warnings = append(h.Warnings, scan.Warnings...)
	for _, p := range scan.Processes {
		h.Charges = s.charge(p.PID, p.Devices, h.Charges)
	}
	for _, pid := range scan.Hidden {
		h.Charges = append(h.Charges, source.Untold(pid))
	}
	for _, u := range scan.Devices {
		if i, ok := s.at[placeOf(u.PDev, u.Driver)]; ok {
			bytes := u.LocalBytes
			if bytes == Unknown {
				bytes = u.HostBytes
			}
			h.Devices[i].Bytes = source.Add(h.Devices[i].Bytes, bytes)
		}
	}
	return h
}

// charge appends what the drivers hold for a process. NVIDIA's descriptors say
// nothing, and a device that came after OpenSource has no number.
func (s *cards) charge(pid int, usages []Usage, list []source.Charge) []source.Charge {
	for _, u := range usages {
		if i, ok := s.at[placeOf(u.PDev, u.Driver)]; ok {
			list = append(list, source.Charge{PID: pid, Device: i, LocalBytes: u.LocalBytes,
				HostBytes: u.HostBytes, Shared: u.Shared})
		}
	}
	return list
}

func (s *cards) Reader() source.Reader { return &reader{s: s} }

// reader reads the descriptors of processes; the index keeps them open.
type reader struct {
	s      *cards
	usages []Usage
}

func (r *reader) Read(pids []int, dst []source.Charge) ([]source.Charge, error) {
	var failed error
	for _, pid := range pids {
		var err error
		r.usages, err = r.s.index.Sample(pid, r.usages[:0])
		switch {
		case err == nil:
			dst = r.s.charge(pid, r.usages, dst)
		case errors.Is(err, fs.ErrNotExist): // one that has ended holds nothing
		case errors.Is(err, fs.ErrPermission):
			dst = append(dst, source.Untold(pid))
		default:
			dst = append(dst, source.Untold(pid))
			failed = fmt.Errorf("drm: %w", err)
		}
	}
	return dst, failed
}

func (r *reader) Close() {}
