package scan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

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

// answerBound is how long a driver may take to load and to describe its
// devices: one that is failing can take forever.
const answerBound = 5 * time.Second

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

// within runs f, but no longer than answerBound or ctx. A call into a driver
// that is stuck cannot be ended; it stays behind.
func within[T any](ctx context.Context, what string, f func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	came := make(chan answer, 1)
	go func() {
		v, err := f()
		came <- answer{v, err}
	}()
	ctx, cancel := context.WithTimeout(ctx, answerBound)
	defer cancel()
	select {
	case a := <-came:
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, fmt.Errorf("%s: the driver did not answer: %w", what, ctx.Err())
	}
}

func (s *Sources) openNVML(ctx context.Context, o nvml.Options) error {
	type opened struct {
		l       *nvml.Library
		devices []nvml.Device
	}
	got, err := within(ctx, "nvml", func() (opened, error) {
		l, err := nvml.Open(o)
		if err != nil {
			return opened{}, err
		}
		return opened{l, l.Devices()}, nil
	})
	if err != nil {
		return err
	}
	if len(got.devices) == 0 {
		// Nothing was allocated yet; an error in closing changes nothing.
		_ = got.l.Close()
		return errors.New("nvml: the driver is here and shows no device; look at lspci and at the container's devices")
	}
	s.nvml = got.l
	for _, d := range got.devices {
		s.add(nvmlDevice(d))
	}
	return nil
}

// nvmlDevice puts a device of NVIDIA's library into ours.
func nvmlDevice(d nvml.Device) Device {
	return Device{
		Source: NVML, Driver: "nvidia", Name: d.Name, UUID: d.UUID, PCI: d.PCI,
		TotalBytes: d.TotalBytes, UsedBytes: d.UsedBytes, ReservedBytes: d.ReservedBytes,
		Instances: instances(d.Instances), Notes: d.Notes,
	}
}

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

func (s *Sources) openKFD() error {
	r, err := kfd.Open(s.root)
	if err != nil {
		return err
	}
	nodes := r.Nodes()
	if len(nodes) == 0 {
		return errors.New("kfd: the driver is here and its topology has no GPU")
	}
	s.kfd = r
	for _, n := range nodes {
		if i, known := s.byPCI[n.PCI]; known && n.PCI != "" {
			d := &s.devices[i]
			if d.TotalBytes == Unknown {
				d.TotalBytes = n.VRAMBytes
			}
			if n.Name != "" {
				d.Name = n.Name + " " + d.Name
			}
			continue
		}
		pci := n.PCI
		if pci == "" {
			pci = fmt.Sprintf("kfd-%d", n.GPUID)
		}
		s.add(Device{Source: KFD, Driver: "amdgpu", Name: n.Name, PCI: pci,
			TotalBytes: n.VRAMBytes, UsedBytes: Unknown, ReservedBytes: Unknown})
	}
	return nil
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
	if s.drm != nil {
		cards, err := drm.Devices(s.root)
		for _, c := range cards {
			if i, ok := s.device(c.PDev, c.Driver); ok && err == nil && list[i].Source == DRM {
				list[i].UsedBytes = c.VRAMUsed
			}
		}
	}
	s.apple.refresh(list)
	s.tt.refresh(list)
	return list
}

func (s *Sources) refreshNVML(ctx context.Context, list []Device) {
	if s.nvml == nil {
		return
	}
	now, err := within(ctx, "nvml", func() ([]nvml.Device, error) { return s.nvml.Devices(), nil })
	for i := range list {
		switch {
		case list[i].Source != NVML:
		case err != nil:
			list[i].UsedBytes = Unknown
			list[i].Notes = append(list[i].Notes, err.Error())
		case i < len(now):
			d := nvmlDevice(now[i])
			d.Index, d.HeldBytes, d.ElsewhereBytes, d.UnchargedBytes = i, Unknown, Unknown, Unknown
			list[i] = d
		}
	}
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
