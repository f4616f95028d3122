package drm

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Device is one card of sysfs. Strings not known are empty, bytes Unknown.
type Device struct {
	Card   string // card0
	Driver string // amdgpu
	PDev   string // PCI address, empty for platform devices
	Vendor string // PCI vendor and device, 0x1002
	Model  string

	// Totals and use of the whole device, by everyone. Only amdgpu publishes
	// them; Notes say so for the others.
	VRAMTotal, VRAMUsed       int64
	VisibleTotal, VisibleUsed int64
	GTTTotal, GTTUsed         int64

	Notes []string
}

// Devices lists the cards of sysfs under root ("" means "/"), by number. A
// machine without cards has none; that is no error.
func Devices(root string) ([]Device, error) {
	if root == "" {
		if runtime.GOOS != "linux" {
			return nil, fmt.Errorf("%w on %s: it reads Linux's proc and sys", ErrUnsupported, runtime.GOOS)
		}
		root = "/"
	}
	class := filepath.Join(root, "sys/class/drm")
	entries, err := os.ReadDir(class)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list graphics cards: %w", err)
	}
	var list []Device
	for _, e := range entries {
		// card0 is a card, card0-DP-1 a connector, renderD128 its other face.
		if n, ok := strings.CutPrefix(e.Name(), "card"); ok && isNumber(n) {
			list = append(list, device(class, e.Name()))
		}
	}
	slices.SortFunc(list, func(a, b Device) int { return cardNumber(a) - cardNumber(b) })
	return list, nil
}

func isNumber(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil
}

func cardNumber(d Device) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(d.Card, "card"))
	return n
}

// device reads one card.
func device(class, card string) Device {
	dir := filepath.Join(class, card, "device")
	d := Device{Card: card, Vendor: sysString(dir, "vendor"), Model: sysString(dir, "device"),
		VRAMTotal: sysNumber(dir, "mem_info_vram_total"), VRAMUsed: sysNumber(dir, "mem_info_vram_used"),
		VisibleTotal: sysNumber(dir, "mem_info_vis_vram_total"),
		VisibleUsed:  sysNumber(dir, "mem_info_vis_vram_used"),
		GTTTotal:     sysNumber(dir, "mem_info_gtt_total"), GTTUsed: sysNumber(dir, "mem_info_gtt_used"),
	}
	d.Driver, d.PDev = parseUevent(sysString(dir, "uevent"))
	switch {
	case d.VRAMTotal != Unknown:
	case d.Driver == "nvidia":
		d.Notes = append(d.Notes, "nvidia publishes no memory here: see the NVIDIA management library")
	default:
		name := d.Driver
		if name == "" {
			name = "the driver"
		}
		d.Notes = append(d.Notes, name+" publishes no device totals in sysfs; bytes by process only")
	}
	return d
}

// parseUevent takes the driver and the PCI address out of a device's uevent.
func parseUevent(text string) (driver, pci string) {
	for line := range strings.Lines(text) {
		switch key, value, _ := strings.Cut(strings.TrimSpace(line), "="); key {
		case "DRIVER":
			driver = value
		case "PCI_SLOT_NAME":
			pci = value
		}
	}
	return driver, pci
}

// sysString reads a small file, "" when it cannot be read.
func sysString(dir, name string) string {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// sysNumber reads a decimal number, Unknown when it cannot be read.
func sysNumber(dir, name string) int64 {
	v, err := strconv.ParseUint(sysString(dir, name), 10, 63)
	if err != nil {
		return Unknown
	}
	return int64(v)
}
