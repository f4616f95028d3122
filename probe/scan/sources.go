package scan

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/gpumem/gpumem/probe/apple"
	"github.com/gpumem/gpumem/probe/drm"
	"github.com/gpumem/gpumem/probe/kfd"
	"github.com/gpumem/gpumem/probe/nvml"
	"github.com/gpumem/gpumem/probe/ttmetal"
)

// The names of the sources.
const (
	NVML = "nvml" // NVIDIA's management library
	DRM  = "drm"  // the kernel's graphics drivers: AMD, Intel, Arm and others
	KFD  = "kfd"  // AMD's compute driver
	// Apple is macOS: the IORegistry and the kernel's graphics ledger.
	Apple = "apple"
	// TTMetal is the shared memory of Tenstorrent's programs.
	TTMetal = "ttmetal"
)

// SourceNames are all sources, in the order of their devices.
func SourceNames() []string { return []string{NVML, DRM, KFD, Apple, TTMetal} }

// SourceOptions say which sources to look for. The zero value is right for
// this machine.
type SourceOptions struct {
	Root string       // of the file system that holds proc and sys; "" is "/"
	NVML nvml.Options // its Root is that of above when empty
	// Apple names the libraries of macOS; the zero value is the system's own.
	Apple apple.Options
	// Only, when not empty, names the sources to look for.
	Only []string
}

// Absence is a source that is not here, with its reason in one line.
type Absence struct {
	Source string
	Err    error
}

// Sources are the sources of GPU bytes that are here. They are safe for
// concurrent use. Close them when done.
type Sources struct {
	root    string
	nvml    *nvml.Library
	drm     *drm.Index
	kfd     *kfd.Reader
	apple   *appleSource
	tt      *ttSource
	devices []Device
	byPCI   map[string]int
	absent  []Absence
	foreign bool // we are in a pid namespace of our own
}

// initialNamespace is the inode of the first pid namespace, a constant of the
// kernel's interface (PROC_PID_INIT_INO).
const initialNamespace = "pid:[4026531836]"

// OpenSources looks for the sources. None being here is no error; each that is
// not has its reason in Absent. When ctx is done a driver that does not answer
// is given up.
func OpenSources(ctx context.Context, o SourceOptions) *Sources {
	s := &Sources{root: o.Root, byPCI: map[string]int{}}
	if ns, err := os.Readlink(filepath.Join(rootOf(o.Root), "proc/self/ns/pid")); err == nil {
		s.foreign = ns != initialNamespace
	}
	if o.NVML.Root == "" {
		o.NVML.Root = o.Root
	}
	for _, source := range []struct {
		name string
		open func() error
	}{
		{NVML, func() error { return s.openNVML(ctx, o.NVML) }},
		{DRM, s.openDRM},
		{KFD, s.openKFD},
		{Apple, func() error { return s.openApple(o.Apple) }},
		{TTMetal, s.openTTMetal},
	} {
		named := slices.Contains(o.Only, source.name)
		if len(o.Only) > 0 && !named || !named && !ofThisSystem(source.name, o) {
			continue
		}
		if err := source.open(); err != nil {
			s.absent = append(s.absent, Absence{source.name, err})
		}
	}
	return s
}

// ofThisSystem reports whether a source can be on this system at all: one that
// cannot is no news when nobody asked for it by name.
func ofThisSystem(source string, o SourceOptions) bool {
	if source == TTMetal {
		_, err := ttmetal.Open(o.Root)
		return err == nil
	}
	mac := runtime.GOOS == "darwin" || o.Apple != apple.Options{}
	return mac == (source == Apple)
}

// add takes a device in under the next number.
func (s *Sources) add(d Device) int {
	d.Index = len(s.devices)
	d.HeldBytes, d.ElsewhereBytes, d.UnchargedBytes = Unknown, Unknown, Unknown
	s.devices = append(s.devices, d)
	key := d.PCI
	if key == "" {
		key = d.Driver // a device of the platform; there is one of a driver
	}
	s.byPCI[key] = d.Index
	return d.Index
}

// device is the number of the device that a source calls by PCI address and
// driver, false for one that came after OpenSources or is not ours.
func (s *Sources) device(pci, driver string) (int, bool) {
	if pci == "" {
		pci = driver
	}
	i, ok := s.byPCI[pci]
	return i, ok
}

// Absent are the sources that are not here. The caller must not change it.
func (s *Sources) Absent() []Absence { return s.absent }

// Here reports whether any source is here.
func (s *Sources) Here() bool {
	return s != nil && (s.nvml != nil || s.drm != nil || s.kfd != nil || s.apple != nil || s.tt != nil)
}

// Limits are sentences about what cannot be known here.
func (s *Sources) Limits() []string {
	var list []string
	if s.nvml != nil {
		list = s.nvml.Limits()
	}
	if s.kfd != nil && s.foreign {
		list = append(list, "container: AMD's compute driver tells pids of the host only; its bytes are not charged to processes here")
	}
	return append(list, s.apple.limits()...)
}

// DriverVersion is NVIDIA's, empty when it is not here.
func (s *Sources) DriverVersion() string {
	if s.nvml == nil {
		return ""
	}
	return s.nvml.DriverVersion()
}

// Devices are the devices with what they hold now, without the figures of a
// scan. A driver that does not answer leaves what was known at first, and says
// so in a note.
func (s *Sources) Devices(ctx context.Context) []Device {
	list := slices.Clone(s.devices)
	for i := range list {
		list[i].Notes = slices.Clone(list[i].Notes)
	}
	s.refreshNVML(ctx, list)
	s.refreshDRM(list)
	s.apple.refresh(list)
	s.tt.refresh(list)
	return list
}

// Close gives the sources back.
func (s *Sources) Close() error {
	var failed []error
	if s.nvml != nil {
		failed = append(failed, s.nvml.Close())
	}
	if s.drm != nil {
		failed = append(failed, s.drm.Close())
	}
	if s.apple != nil {
		s.apple.registry.Close()
	}
	return errors.Join(failed...)
}
