package kfd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/gpumem/gpumem/probe/procfs"
	"github.com/gpumem/gpumem/probe/source"
)

// SourceName is the source's name.
const SourceName = "kfd"

// errClosed is the answer after Close.
var errClosed = errors.New("kfd: used after close")

// OpenSource opens AMD's compute driver as a source of GPU bytes; root is as in
// Open. Its devices are those of the graphics driver too, at the same addresses.
func OpenSource(root string) (source.Source, error) {
	r, err := Open(root)
	if err != nil {
		return nil, err
	}
	nodes := r.Nodes()
	if len(nodes) == 0 {
		return nil, errors.New("kfd: the driver is here and its topology has no GPU")
	}
	if root == "" {
		root = "/"
	}
	s := &gpus{r: r, at: map[uint32]int{}, inner: procfs.Dir(filepath.Join(root, "proc")).Inner()}
	for _, n := range nodes {
		pci := n.PCI
		if pci == "" {
			pci = fmt.Sprintf("kfd-%d", n.GPUID)
		}
		s.at[n.GPUID] = len(s.devices)
		s.devices = append(s.devices, source.Device{Index: len(s.devices), Source: SourceName,
			Driver: "amdgpu", Name: n.Name, PCI: pci,
			TotalBytes: n.VRAMBytes, UsedBytes: Unknown, ReservedBytes: Unknown})
	}
	return s, nil
}

// gpus is AMD's compute driver as a source.
type gpus struct {
	r       *Reader
	devices []source.Device
	at      map[uint32]int // number of a device by the driver's own
	inner   bool           // the driver's pids are not ours
	closed  atomic.Bool
}

func (s *gpus) Name() string { return SourceName }

func (s *gpus) Limits() []string {
	if !s.inner {
		return nil
	}
	return []string{"container: AMD's compute driver tells pids of the host only; its bytes are not " +
		"charged to processes here"}
}

func (s *gpus) Close() error {
	s.closed.Store(true)
	return nil
}

// Devices are as the topology has them; what is used of them is not told.
func (s *gpus) Devices(context.Context) []source.Device { return slices.Clone(s.devices) }

func (s *gpus) Charges(context.Context, []int) source.Holdings {
	h := source.Holdings{Devices: make([]source.Held, len(s.devices))}
	processes, err := s.r.Processes()
	if s.closed.Load() {
		processes, err = nil, errClosed
	}
	if err != nil {
		h.Warnings = append(h.Warnings, oneLine(err))
		for i := range h.Devices {
			h.Devices[i] = source.Held{Bytes: Unknown, Silent: true}
		}
	}
	for _, p := range processes {
		start := len(h.Charges)
		h.Charges = s.charge(p.PID, p.GPUs, h.Charges)
		for _, c := range h.Charges[start:] {
			h.Devices[c.Device].Bytes = source.Add(h.Devices[c.Device].Bytes, c.LocalBytes)
		}
	}
	if s.inner {
		h.Charges, h.Outer = nil, h.Charges
	}
	return h
}

// oneLine is an error with the source's name in front.
func oneLine(err error) string {
	if errors.Is(err, errClosed) {
		return err.Error()
	}
	return fmt.Sprintf("kfd: %v", err)
}

// charge appends what the GPUs hold for a process.
func (s *gpus) charge(pid int, usages []Usage, list []source.Charge) []source.Charge {
	for _, u := range usages {
		if i, ok := s.at[u.GPUID]; ok {
			list = append(list, source.Charge{PID: pid, Device: i, LocalBytes: u.VRAMBytes,
				HostBytes: Unknown})
		}
	}
	return list
}

func (s *gpus) Reader() source.Reader { return &reader{s: s} }

// reader reads the driver's files of processes.
type reader struct {
	s      *gpus
	usages []Usage
}

func (r *reader) Read(pids []int, dst []source.Charge) ([]source.Charge, error) {
	var failed error
	for _, pid := range pids {
		if r.s.inner || r.s.closed.Load() {
			dst = append(dst, source.Untold(pid))
			continue
		}
		var err error
		r.usages, err = r.s.r.Sample(pid, r.usages[:0])
		switch {
		case err == nil:
			dst = r.s.charge(pid, r.usages, dst)
		case errors.Is(err, fs.ErrNotExist): // it has no context of this driver
		default:
			dst = append(dst, source.Untold(pid))
			failed = fmt.Errorf("kfd: %w", err)
		}
	}
	if r.s.closed.Load() {
		failed = errClosed
	}
	return dst, failed
}

func (r *reader) Close() {}
