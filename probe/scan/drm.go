package scan

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/probe/drm"
)

func (s *Sources) openDRM() error {
	cards, err := drm.Devices(s.root)
	if err != nil {
		return err
	}
	found := len(cards)
	cards = slices.DeleteFunc(cards, func(d drm.Device) bool {
		return strings.HasPrefix(d.Driver, "nvidia") || d.Driver == "" && d.PDev == ""
	})
	accelerators := accelerators(s.root)
	switch {
	case len(cards)+len(accelerators) > 0:
	case found > 0:
		return errors.New("drm: the cards in /sys/class/drm have a driver that tells nothing there (NVIDIA's)")
	default:
		return errors.New("drm: no graphics card in /sys/class/drm")
	}
	if s.drm, err = drm.Open(drm.Options{Root: s.root}); err != nil {
		return err
	}
	slices.SortStableFunc(cards, func(a, b drm.Device) int { return cmp.Compare(a.PDev, b.PDev) })
	for _, c := range cards {
		s.add(drmDevice(c))
	}
	for _, a := range accelerators {
		if _, known := s.device(a.PCI, a.Driver); !known {
			s.add(a)
		}
	}
	return nil
}

// accelerators are the devices of the kernel's other class of such drivers,
// which print the same figures (amdxdna, ivpu, …).
func accelerators(root string) []Device {
	paths, _ := filepath.Glob(filepath.Join(rootOf(root), "sys/class/accel/accel*/device/uevent")) // the pattern is good
	var list []Device
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		d := Device{Source: DRM, Name: filepath.Base(filepath.Dir(filepath.Dir(path))), Integrated: true,
			TotalBytes: Unknown, UsedBytes: Unknown, ReservedBytes: Unknown}
		for line := range strings.Lines(string(b)) {
			switch key, value, _ := strings.Cut(strings.TrimSpace(line), "="); key {
			case "DRIVER":
				d.Driver = value
			case "PCI_SLOT_NAME":
				d.PCI = value
			}
		}
		if d.Driver != "" {
			list = append(list, d)
		}
	}
	return list
}

// drmDevice puts a card of sysfs into ours.
func drmDevice(c drm.Device) Device {
	name := c.Card
	if c.Vendor != "" && c.Model != "" {
		name = fmt.Sprintf("%s (%s:%s)", c.Card, strings.TrimPrefix(c.Vendor, "0x"), strings.TrimPrefix(c.Model, "0x"))
	}
	return Device{
		Source: DRM, Driver: c.Driver, Name: name, PCI: c.PDev, Notes: c.Notes,
		TotalBytes: c.VRAMTotal, UsedBytes: c.VRAMUsed, ReservedBytes: Unknown, Integrated: integrated(c.Driver),
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

func (s *Sources) refreshDRM(list []Device) {
	if s.drm == nil {
		return
	}
	cards, err := drm.Devices(s.root)
	if err != nil {
		return
	}
	for _, c := range cards {
		if i, ok := s.device(c.PDev, c.Driver); ok && list[i].Source == DRM {
			list[i].UsedBytes = c.VRAMUsed
		}
	}
}

func (s *Sources) chargeDRM(c *charges) {
	if s.drm == nil {
		return
	}
	scan, err := s.drm.Scan()
	if err != nil {
		c.warnings = append(c.warnings, fmt.Sprintf("drm: %v", err))
	}
	c.warnings = append(c.warnings, scan.Warnings...)
	for _, p := range scan.Processes {
		c.list = s.appendDRM(p.PID, p.Devices, c.list)
	}
	for _, u := range scan.Devices {
		if i, ok := s.device(u.PDev, u.Driver); ok {
			bytes := u.LocalBytes
			if bytes == Unknown {
				bytes = u.HostBytes
			}
			c.held[i] = sum(c.held[i], bytes)
		}
	}
}

// appendDRM appends what the kernel's drivers hold for a process. NVIDIA's
// descriptors say nothing and belong to another source.
func (s *Sources) appendDRM(pid int, usages []drm.Usage, list []Charge) []Charge {
	for _, u := range usages {
		i, ok := s.device(u.PDev, u.Driver)
		if !ok || s.devices[i].Source == NVML {
			continue
		}
		list = append(list, Charge{PID: pid, Device: i, LocalBytes: u.LocalBytes, HostBytes: u.HostBytes, Shared: u.Shared})
	}
	return list
}
