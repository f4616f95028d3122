package scan

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/gpumem/gpumem/probe/apple"
)

// appleSource is what macOS tells of its GPUs. Its methods do nothing on nil.
type appleSource struct {
	kernel   *apple.Kernel
	registry *apple.Registry
	devices  map[uint64]int // by the registry's number
	indexes  []int          // of the same, ascending
	// only is the device that the kernel's ledger speaks of, -1 when there are
	// several: it does not say which.
	only int
}

func (s *Sources) openApple(o apple.Options) error {
	kernel, err := apple.OpenKernel(o)
	if err != nil {
		return fmt.Errorf("apple: %w", err)
	}
	registry, err := apple.OpenRegistry(o)
	if err != nil {
		return fmt.Errorf("apple: %w", err)
	}
	list, err := registry.Accelerators(false)
	if err == nil && len(list) == 0 {
		err = errors.New("no GPU in the IORegistry; a virtual machine may have none")
	}
	if err != nil {
		registry.Close()
		return fmt.Errorf("apple: %w", err)
	}
	s.apple = &appleSource{kernel: kernel, registry: registry, devices: map[uint64]int{}, only: -1}
	for _, a := range list {
		i := s.add(appleDevice(a))
		s.apple.devices[a.ID], s.apple.indexes = i, append(s.apple.indexes, i)
	}
	if len(list) == 1 {
		s.apple.only = s.apple.indexes[0]
	}
	return nil
}

// appleDevice puts a GPU of the registry into ours.
func appleDevice(a apple.Accelerator) Device {
	d := Device{Source: Apple, Driver: a.Class, Name: a.Model, TotalBytes: Unknown, UsedBytes: a.InUse, ReservedBytes: Unknown, Integrated: true}
	if a.VRAMUsed != Unknown || a.VRAMFree != Unknown {
		d.Integrated, d.UsedBytes = false, a.VRAMUsed
		if a.VRAMUsed != Unknown && a.VRAMFree != Unknown {
			d.TotalBytes = a.VRAMUsed + a.VRAMFree
		}
	}
	if d.Integrated {
		wired, buffers := gpuLimits()
		if wired > 0 {
			d.TotalBytes = wired << 20
			d.Notes = append(d.Notes, fmt.Sprintf("iogpu.wired_limit_mb is %d: what the GPU may wire of the memory", wired))
		}
		if buffers > 0 {
			d.Notes = append(d.Notes, fmt.Sprintf("iogpu.rsrc_limit is %d: how many buffers may exist", buffers))
		}
	}
	if a.Recoveries > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("the GPU hung and was started again %d times", a.Recoveries))
	}
	return d
}

// limits are sentences about what cannot be known.
func (s *appleSource) limits() []string {
	var list []string
	if s == nil {
		return nil
	}
	if s.only < 0 {
		list = append(list, fmt.Sprintf("apple: the kernel does not say which of %d GPUs holds what for a process; GPU bytes by process are not known", len(s.devices)))
	}
	if os.Geteuid() != 0 {
		list = append(list, "apple: memory of other users' processes is not known; root sees all")
	}
	return list
}

// refresh brings what the GPUs hold up to date.
func (s *appleSource) refresh(list []Device) {
	if s == nil {
		return
	}
	now, err := s.registry.Accelerators(false)
	for i := range list {
		if list[i].Source == Apple {
			list[i].UsedBytes = Unknown
			if err != nil {
				list[i].Notes = append(list[i].Notes, err.Error())
			}
		}
	}
	for _, a := range now {
		if i, ok := s.devices[a.ID]; ok {
			list[i].UsedBytes = appleDevice(a).UsedBytes
		}
	}
}

// charge charges processes with what the kernel's ledger says, and adds whom
// the GPUs work for.
func (s *appleSource) charge(pids []int, c *charges) {
	if s == nil {
		return
	}
	clients, err := s.clients()
	if err != nil {
		c.warnings = append(c.warnings, fmt.Sprintf("apple: %v", err))
	}
	for _, pid := range pids {
		bytes := s.ledger(pid)
		if bytes == Unknown {
			c.unknown[pid] = true
		}
		for _, i := range s.indexes {
			n, client := clients[held{pid, i}]
			if !client && (bytes <= 0 || i != s.only) {
				continue
			}
			n.PID, n.Device, n.LocalBytes, n.HostBytes = pid, i, Unknown, bytes
			if !client {
				n.Busy = time.Duration(Unknown)
			}
			c.list = append(c.list, n)
			if bytes == Unknown || c.held[i] == Unknown {
				c.held[i] = Unknown
			} else {
				c.held[i] += bytes
			}
		}
	}
}

// clients are whom the GPUs work for.
func (s *appleSource) clients() (map[held]Charge, error) {
	list, err := s.registry.Accelerators(true)
	of := map[held]Charge{}
	for _, a := range list {
		i, ok := s.devices[a.ID]
		for _, client := range a.Clients {
			if ok {
				of[held{client.PID, i}] = withClient(of[held{client.PID, i}], client)
			}
		}
	}
	return of, err
}

func withClient(n Charge, client apple.Client) Charge {
	if n.Clients == 0 {
		n.Busy = time.Duration(Unknown)
	}
	n.Clients++
	if client.GPUTime >= 0 {
		n.Busy = max(n.Busy, 0) + client.GPUTime
	}
	return n
}

// ledger is what the kernel charges a process with as graphics, Unknown for
// another user's and where it cannot be said of which device it is.
func (s *appleSource) ledger(pid int) int64 {
	if s.only < 0 {
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

// appleReader asks the kernel's ledger again and again.
type appleReader struct {
	s       *appleSource
	held    map[held]bool
	open    map[int]*apple.Process
	failing complaint
}

func (r *appleReader) Read(pids []int, dst []Charge) ([]Charge, error) {
	forget(r.held, pids)
	r.closeBut(pids)
	var failed error
	start := len(dst)
	for _, pid := range pids {
		bytes, err := r.read(pid)
		if err != nil {
			failed = err
			continue
		}
		h := held{pid, r.s.only}
		if bytes > 0 {
			r.held[h] = true
		}
		if bytes > 0 || bytes == 0 && r.held[h] {
			dst = append(dst, Charge{PID: pid, Device: r.s.only, LocalBytes: Unknown, HostBytes: bytes})
		}
	}
	if err := r.failing.tell(failed); err != nil {
		return dst[:start], err
	}
	return dst, nil
}

// read is the ledger of a process: 0 for one that has ended, Unknown for one
// that may not be read and where the kernel does not fill it.
func (r *appleReader) read(pid int) (int64, error) {
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
		if errors.Is(err, apple.ErrPermission) || errors.Is(err, apple.ErrGone) {
			return Unknown, nil
		}
		return Unknown, err
	}
	return l.GraphicsBytes(), nil
}

// absent is the reading for a process that cannot be opened.
func absent(err error) (int64, error) {
	switch {
	case errors.Is(err, apple.ErrGone):
		return 0, nil
	case errors.Is(err, apple.ErrPermission):
		return Unknown, nil
	}
	return Unknown, fmt.Errorf("apple: %w", err)
}

// closeBut closes the processes that are not asked for any more.
func (r *appleReader) closeBut(pids []int) {
	for pid, p := range r.open {
		if !slices.Contains(pids, pid) {
			p.Close()
			delete(r.open, pid)
		}
	}
}

func (r *appleReader) Close() { r.closeBut(nil) }
