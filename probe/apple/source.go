package apple

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/gpumem/gpumem/probe/source"
)

// SourceName is the source's name.
const SourceName = "apple"

// errClosed is the answer after Close.
var errClosed = errors.New("apple: used after close")

// OpenSource opens macOS as a source of GPU bytes. A machine without a GPU in
// the IORegistry is an error.
func OpenSource(o Options) (source.Source, error) {
	kernel, err := OpenKernel(o)
	if err != nil {
		return nil, fmt.Errorf("apple: %w", err)
	}
	registry, err := OpenRegistry(o)
	if err != nil {
		return nil, fmt.Errorf("apple: %w", err)
	}
	list, err := registry.Accelerators(false)
	if err == nil && len(list) == 0 {
		err = errors.New("no GPU in the IORegistry; a virtual machine may have none")
	}
	if err != nil {
		registry.Close()
		return nil, fmt.Errorf("apple: %w", err)
	}
	s := &gpus{kernel: kernel, registry: registry, at: map[uint64]int{}}
	for i := range list {
		d := deviceOf(&list[i])
		d.Index = i
		s.at[list[i].ID] = i
		s.devices = append(s.devices, d)
	}
	return s, nil
}

// gpus are the GPUs of a Mac as a source.
type gpus struct {
	kernel  *Kernel
	devices []source.Device
	at      map[uint64]int // number of a device by the registry's

	mu       sync.RWMutex // held for reading while the registry is asked
	registry *Registry    // nil after Close
}

// one reports whether there is one GPU: of several the kernel's ledger does not
// say which holds what.
func (s *gpus) one() bool { return len(s.devices) == 1 }

// deviceOf puts a GPU of the registry into the shared type.
func deviceOf(a *Accelerator) source.Device {
	d := source.Device{Source: SourceName, Driver: a.Class, Name: a.Model, TotalBytes: Unknown,
		UsedBytes: a.InUse, ReservedBytes: Unknown, Integrated: true}
	if a.VRAMUsed != Unknown || a.VRAMFree != Unknown {
		d.Integrated, d.UsedBytes = false, a.VRAMUsed
		d.TotalBytes = source.Add(a.VRAMUsed, a.VRAMFree)
	}
	if d.Integrated {
		wired, buffers := gpuLimits()
		if wired > 0 {
			d.TotalBytes = wired << 20
			d.Notes = append(d.Notes,
				fmt.Sprintf("iogpu.wired_limit_mb is %d: what the GPU may wire of the memory", wired))
		}
		if buffers > 0 {
			d.Notes = append(d.Notes,
				fmt.Sprintf("iogpu.rsrc_limit is %d: how many buffers may exist", buffers))
		}
	}
	if a.Recoveries > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("the GPU hung and was started again %d times", a.Recoveries))
	}
	return d
}

func (s *gpus) Name() string { return SourceName }

func (s *gpus) Limits() []string {
	var list []string
	if !s.one() {
		list = append(list,
			fmt.Sprintf(
				"apple: the kernel does not say which of %d GPUs holds what for a process; GPU bytes by "+
					"process are not known", len(s.devices)))
	}
	if os.Geteuid() != 0 {
		list = append(list, "apple: memory of other users' processes is not known; root sees all")
	}
	return list
}

func (s *gpus) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.registry != nil {
		s.registry.Close()
		s.registry = nil
	}
	return nil
}

// accelerators asks the registry.
func (s *gpus) accelerators(clients bool) ([]Accelerator, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.registry == nil {
		return nil, errClosed
	}
	list, err := s.registry.Accelerators(clients)
	if err != nil {
		err = fmt.Errorf("apple: %w", err)
	}
	return list, err
}

func (s *gpus) isClosed() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.registry == nil
}

func (s *gpus) Devices(context.Context) []source.Device {
	list := slices.Clone(s.devices)
	now, err := s.accelerators(false)
	for i := range list {
		list[i].UsedBytes = Unknown
		if err != nil {
			list[i].Notes = append(slices.Clone(list[i].Notes), err.Error())
		}
	}
	for i := range now {
		if k, ok := s.at[now[i].ID]; ok {
			list[k].UsedBytes = deviceOf(&now[i]).UsedBytes
		}
	}
	return list
}

// Charges charges the processes with what the kernel's ledger says, and adds
// whom the GPUs work for.
func (s *gpus) Charges(_ context.Context, pids []int) source.Holdings {
	h := source.Holdings{Devices: make([]source.Held, len(s.devices))}
	clients, err := s.clients()
	if err != nil {
		h.Warnings = append(h.Warnings, err.Error())
	}
	closed := errors.Is(err, errClosed)
	for i := range h.Devices {
		if closed {
			h.Devices[i] = source.Held{Bytes: Unknown, Silent: true}
		}
	}
	for _, pid := range pids {
		bytes := Unknown
		if !closed {
			bytes = s.ledger(pid)
		}
		if bytes == Unknown {
			h.Charges = append(h.Charges, source.Untold(pid))
		}
		for i := range s.devices {
			c, client := clients[[2]int{pid, i}]
			if !client && bytes <= 0 {
				continue
			}
			if !client {
				c.Busy = time.Duration(Unknown)
			}
			c.PID, c.Device, c.LocalBytes, c.HostBytes = pid, i, Unknown, bytes
			h.Charges = append(h.Charges, c)
			h.Devices[i].Bytes = source.Add(h.Devices[i].Bytes, bytes)
		}
	}
	return h
}

// clients are whom the GPUs work for, by process and device.
func (s *gpus) clients() (map[[2]int]source.Charge, error) {
	list, err := s.accelerators(true)
	of := map[[2]int]source.Charge{}
	for _, a := range list {
		i, ok := s.at[a.ID]
		for _, client := range a.Clients {
			if key := [2]int{client.PID, i}; ok {
				of[key] = withClient(of[key], client)
			}
		}
	}
	return of, err
}

func withClient(c source.Charge, client Client) source.Charge {
	if c.Clients == 0 {
		c.Busy = time.Duration(Unknown)
	}
	c.Clients++
	if client.GPUTime >= 0 {
		c.Busy = max(c.Busy, 0) + client.GPUTime
	}
	return c
}

// ledger is what the kernel charges a process with as graphics, Unknown for
// another user's and where it cannot be said of which device it is.
func (s *gpus) ledger(pid int) int64 {
	if !s.one() {
		return Unknown
	}
	p, err := s.kernel.Open(pid)
	if err != nil {
		return Unknown
	}
	defer p.Close()
	l, err := p.Ledger()
	if err != nil {
		return Unknown
	}
	return l.GraphicsBytes()
}

func (s *gpus) Reader() source.Reader { return &reader{s: s, open: map[int]*Process{}} }

// reader asks the kernel's ledger again and again.
type reader struct {
	s    *gpus
	open map[int]*Process
}

func (r *reader) Read(pids []int, dst []source.Charge) ([]source.Charge, error) {
	r.closeBut(pids)
	var failed error
	if r.s.isClosed() {
		failed = errClosed
	}
	for _, pid := range pids {
		bytes := Unknown
		if r.s.one() && !errors.Is(failed, errClosed) {
			var err error
			if bytes, err = r.read(pid); err != nil {
				failed = err
			}
		}
		switch {
		case bytes == Unknown:
			dst = append(dst, source.Untold(pid))
		case bytes > 0:
			dst = append(dst, source.Charge{PID: pid, LocalBytes: Unknown, HostBytes: bytes})
		}
	}
	return dst, failed
}

// read is the ledger of a process: 0 for one that has ended, Unknown for one
// that may not be read and where the kernel does not fill it.
func (r *reader) read(pid int) (int64, error) {
	p := r.open[pid]
	if p == nil {
		var err error
		p, err = r.s.kernel.Open(pid)
		if err != nil {
			return absent(err)
		}
		r.open[pid] = p
	}
	if _, err := p.Usage(); err != nil { // tells the end from the lack of rights
		p.Close()
		delete(r.open, pid)
		return absent(err)
	}
	l, err := p.Ledger()
	if err != nil {
		if errors.Is(err, ErrPermission) || errors.Is(err, ErrGone) {
			return Unknown, nil
		}
		return Unknown, err
	}
	return l.GraphicsBytes(), nil
}

// absent is the reading for a process that cannot be opened.
func absent(err error) (int64, error) {
	switch {
	case errors.Is(err, ErrGone):
		return 0, nil
	case errors.Is(err, ErrPermission):
		return Unknown, nil
	}
	return Unknown, fmt.Errorf("apple: %w", err)
}

// closeBut closes the processes that are not asked for any more.
func (r *reader) closeBut(pids []int) {
	for pid, p := range r.open {
		if !slices.Contains(pids, pid) {
			p.Close()
			delete(r.open, pid)
		}
	}
}

func (r *reader) Close() { r.closeBut(nil) }
