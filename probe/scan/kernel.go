package scan

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/gpumem/gpumem/probe/kfd"
)

// fileReader reads the files of the kernel's drivers. A ROCm process is in both
// of AMD's, with the same buffers: the greater figure counts.
type fileReader struct {
	s       *Sources
	held    map[held]bool
	compute []kfd.Usage
	failing complaint
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
	if err := r.failing.tell(failed); err != nil {
		return dst[:start], err
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
