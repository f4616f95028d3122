package scan

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/gpumem/gpumem/probe/apple"
	"github.com/gpumem/gpumem/probe/kfd"
	"github.com/gpumem/gpumem/probe/nvml"
)

// Reader asks again and again what devices hold for a few processes. It
// belongs to one goroutine; close it when done.
type Reader interface {
	// Read appends the charges of the processes to dst and returns it. A
	// process that the devices hold nothing for is left out until they once
	// did; then it is charged with 0. One whose bytes are not known is left
	// out. An error is told once for as long as it lasts: what can be read in
	// spite of it is read from the next call on.
	Read(pids []int, dst []Charge) ([]Charge, error)
	Close()
}

// Readers are readers of all sources that are here, each with devices of its
// own.
func (s *Sources) Readers() []Reader {
	var list []Reader
	if s.nvml != nil {
		list = append(list, &nvmlReader{sampler: s.nvml.NewSampler(), held: map[held]bool{}})
	}
	if s.drm != nil || s.kfd != nil && !s.foreign {
		list = append(list, &fileReader{s: s, held: map[held]bool{}})
	}
	if s.tt != nil {
		list = append(list, &ttReader{s: s.tt, held: map[held]bool{}})
	}
	if s.apple != nil && s.apple.only >= 0 {
		list = append(list, &appleReader{s: s.apple, held: map[held]bool{}, open: map[int]*apple.Process{}})
	}
	return list
}

// held is a process that a device has held memory for.
type held struct{ pid, device int }

// forget drops the processes that are not asked for any more: a later one may
// have their pid.
func forget(seen map[held]bool, pids []int) {
	for h := range seen {
		if !slices.Contains(pids, h.pid) {
			delete(seen, h)
		}
	}
}

// nvmlReader asks NVIDIA's library.
type nvmlReader struct {
	sampler *nvml.Sampler
	held    map[held]bool
	failing string // what the last error said
}

func (r *nvmlReader) Read(pids []int, dst []Charge) ([]Charge, error) {
	forget(r.held, pids)
	err := r.sampler.Sample(pids)
	switch {
	case err == nil:
		r.failing = ""
	case err.Error() != r.failing:
		r.failing = err.Error()
		return dst, err
	}
	for i, pid := range pids {
		if r.sampler.Bytes(i) == Unknown {
			continue // a device that holds some of it does not answer
		}
		for d := range r.sampler.Devices() {
			b := r.sampler.DeviceBytes(i, d)
			if b > 0 {
				r.held[held{pid, d}] = true
			}
			if b > 0 || b == 0 && r.held[held{pid, d}] {
				dst = append(dst, Charge{PID: pid, Device: d, LocalBytes: b, HostBytes: Unknown})
			}
		}
	}
	return dst, nil
}

func (r *nvmlReader) Close() { r.sampler.Close() }

// fileReader reads the drivers of the kernel.
type fileReader struct {
	s       *Sources
	held    map[held]bool
	compute []kfd.Usage
	failing string
}

func (r *fileReader) Read(pids []int, dst []Charge) ([]Charge, error) {
	forget(r.held, pids)
	var failed error
	start := len(dst)
	for _, pid := range pids {
		own := len(dst)
		var told bool
		var err error
		if dst, told, err = r.readDRM(pid, dst); err != nil {
			failed = err
		}
		dst = r.readKFD(pid, own, dst)
		for i := own; i < len(dst); i++ {
			r.held[held{pid, dst[i].Device}] = true
		}
		for h := range r.held {
			listed := func(c Charge) bool { return c.Device == h.device }
			if told && h.pid == pid && !slices.ContainsFunc(dst[own:], listed) {
				dst = append(dst, Charge{PID: pid, Device: h.device, LocalBytes: 0, HostBytes: Unknown})
			}
		}
	}
	switch {
	case failed == nil:
		r.failing = ""
	case failed.Error() != r.failing:
		r.failing = failed.Error()
		return dst[:start], failed
	}
	return dst, nil
}

// readDRM reads the descriptors of a process. One that has ended holds
// nothing; told is false for one of another user, of which nothing is known.
func (r *fileReader) readDRM(pid int, dst []Charge) (list []Charge, told bool, err error) {
	if r.s.drm == nil {
		return dst, true, nil
	}
	usages, err := r.s.drm.Sample(pid, nil)
	switch {
	case err == nil:
		return r.s.appendDRM(pid, usages, dst), true, nil
	case errors.Is(err, fs.ErrNotExist):
		return dst, true, nil
	case errors.Is(err, fs.ErrPermission):
		return dst, false, nil
	}
	return dst, false, fmt.Errorf("drm: %w", err)
}

// readKFD raises what a process is charged from own on to what the compute
// driver says.
func (r *fileReader) readKFD(pid, own int, dst []Charge) []Charge {
	if r.s.kfd == nil || r.s.foreign {
		return dst
	}
	var err error
	if r.compute, err = r.s.kfd.Sample(pid, r.compute[:0]); err != nil {
		return dst // no context of this driver
	}
	mine := dst[own:]
	for _, u := range r.compute {
		if i, ok := r.s.computeDevice(u); ok && u.VRAMBytes != Unknown {
			mine, _ = raise(mine, Charge{PID: pid, Device: i, LocalBytes: u.VRAMBytes, HostBytes: Unknown})
		}
	}
	return append(dst[:own], mine...)
}

func (r *fileReader) Close() {}
