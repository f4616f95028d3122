package scan

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/probe/apple"
	"github.com/gpumem/gpumem/probe/drm"
	"github.com/gpumem/gpumem/probe/kfd"
	"github.com/gpumem/gpumem/probe/nvml"
	"github.com/gpumem/gpumem/probe/procfs"
	"github.com/gpumem/gpumem/probe/ttmetal"
)

// The names of the sources.
const (
	NVML = nvml.SourceName // NVIDIA's management library
	DRM  = drm.SourceName  // the kernel's graphics drivers: AMD, Intel, Arm and others
	KFD  = kfd.SourceName  // AMD's compute driver
	// Apple is macOS: the IORegistry and the kernel's graphics ledger.
	Apple = apple.SourceName
	// TTMetal is the shared memory of Tenstorrent's programs.
	TTMetal = ttmetal.SourceName
)

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

// kind is one source that there may be.
type kind struct {
	name string
	open func(ctx context.Context, o *SourceOptions) (probe.Source, error)
	// fits reports whether it can be on this system at all: one that cannot is no
	// news when nobody asked for it by name.
	fits func(o *SourceOptions) bool
}

// kinds are all sources, in the order of their devices. A new source is a package
// and a line here.
func kinds() []kind {
	return []kind{
		{NVML, func(ctx context.Context, o *SourceOptions) (probe.Source, error) {
			return nvml.OpenSource(ctx, o.NVML)
		}, notMac},
		{DRM, func(_ context.Context, o *SourceOptions) (probe.Source, error) {
			return drm.OpenSource(o.Root)
		}, notMac},
		{KFD, func(_ context.Context, o *SourceOptions) (probe.Source, error) {
			return kfd.OpenSource(o.Root)
		}, notMac},
		{Apple, func(_ context.Context, o *SourceOptions) (probe.Source, error) {
			return apple.OpenSource(o.Apple)
		}, mac},
		{TTMetal, func(_ context.Context, o *SourceOptions) (probe.Source, error) {
			return ttmetal.OpenSource(o.Root)
		}, hasTTMetal},
	}
}

func mac(o *SourceOptions) bool    { return runtime.GOOS == "darwin" || o.Apple != apple.Options{} }
func notMac(o *SourceOptions) bool { return !mac(o) }

func hasTTMetal(o *SourceOptions) bool {
	_, err := ttmetal.Open(o.Root)
	return err == nil
}

// SourceNames are all sources, in the order of their devices.
func SourceNames() []string {
	var names []string
	for _, k := range kinds() {
		names = append(names, k.name)
	}
	return names
}

// Absence is a source that is not here, with its reason in one line.
type Absence struct {
	Source string
	Err    error
}

// OpenSources looks for the sources. None being here is no error; each that is
// not has its reason in Absent. When ctx is done a driver that does not answer
// is given up.
func OpenSources(ctx context.Context, o SourceOptions) *Sources {
	s := newSources(procfs.Dir(filepath.Join(rootOf(o.Root), "proc")).Inner())
	if o.NVML.Root == "" {
		o.NVML.Root = o.Root
	}
	for _, k := range kinds() {
		named := slices.Contains(o.Only, k.name)
		if !named && (len(o.Only) > 0 || !k.fits(&o)) {
			continue
		}
		opened, err := k.open(ctx, &o)
		if err != nil {
			s.absent = append(s.absent, Absence{k.name, err})
			continue
		}
		s.add(ctx, opened)
	}
	return s
}

// Sources are the sources of GPU bytes that are here, their devices under one
// numbering. They are safe for concurrent use. Close them when done.
type Sources struct {
	members []member
	devices []Device
	absent  []Absence
	foreign bool // we are in a pid namespace of our own
}

// member is a source with the places of its devices.
type member struct {
	source probe.Source
	places []place
}

// place is where a device of a source stands in the list of all. first is set
// when no source before told of the same device.
type place struct {
	index int
	first bool
}

func newSources(foreign bool) *Sources { return &Sources{foreign: foreign} }

// add takes a source in. A device at the PCI address of one that an earlier
// source tells of is that device.
func (s *Sources) add(ctx context.Context, opened probe.Source) {
	m := member{source: opened}
	for _, d := range opened.Devices(ctx) {
		at := slices.IndexFunc(s.devices, func(known Device) bool {
			return d.PCI != "" && known.PCI == d.PCI
		})
		if at >= 0 {
			s.devices[at].Complete(&d)
			m.places = append(m.places, place{at, false})
			continue
		}
		d.Index = len(s.devices)
		d.HeldBytes, d.ElsewhereBytes, d.UnchargedBytes = Unknown, Unknown, Unknown
		s.devices = append(s.devices, d)
		m.places = append(m.places, place{d.Index, true})
	}
	s.members = append(s.members, m)
}

// place is where device k of the source stands; false for one that came after
// the source was opened.
func (m *member) place(k int) (place, bool) {
	if k < 0 || k >= len(m.places) {
		return place{}, false
	}
	return m.places[k], true
}

// Absent are the sources that are not here. The caller must not change it.
func (s *Sources) Absent() []Absence { return s.absent }

// Here reports whether any source is here.
func (s *Sources) Here() bool { return s != nil && len(s.members) > 0 }

// Limits are sentences about what cannot be known here.
func (s *Sources) Limits() []string {
	var list []string
	for _, m := range s.members {
		list = append(list, m.source.Limits()...)
	}
	return list
}

// Devices are the devices with what they hold now, without the figures of a
// scan. A driver that does not answer leaves what was known at first, and says
// so in a note.
func (s *Sources) Devices(ctx context.Context) []Device {
	list := slices.Clone(s.devices)
	for _, m := range s.members {
		for k, d := range m.source.Devices(ctx) {
			at, ok := m.place(k)
			switch {
			case !ok:
			case at.first:
				d.Index = at.index
				d.HeldBytes, d.ElsewhereBytes, d.UnchargedBytes = Unknown, Unknown, Unknown
				list[at.index] = d
			default:
				list[at.index].Complete(&d)
			}
		}
	}
	return list
}

// Close gives the sources back.
func (s *Sources) Close() error {
	var failed []error
	for _, m := range s.members {
		failed = append(failed, m.source.Close())
	}
	return errors.Join(failed...)
}
