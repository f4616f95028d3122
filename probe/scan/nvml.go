package scan

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gpumem/gpumem/probe/nvml"
)

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

func (s *Sources) chargeNVML(ctx context.Context, c *charges) {
	if s.nvml == nil {
		return
	}
	for i, d := range s.devices {
		if d.Source != NVML {
			continue
		}
		list, err := within(ctx, "nvml: list processes", func() ([]nvml.Process, error) { return s.nvml.Processes(i) })
		if err != nil {
			c.warnings = append(c.warnings, err.Error())
			c.silent[i], c.held[i] = true, Unknown
			continue
		}
		for _, p := range list {
			c.add(Charge{PID: p.PID, Device: i, LocalBytes: p.Bytes, HostBytes: Unknown})
			c.held[i] = both(c.held[i], p.Bytes)
			if p.GPUInstance != nvml.NoInstance {
				at := part{i, p.GPUInstance, p.ComputeInstance}
				c.parts[at] = both(c.parts[at], p.Bytes)
			}
			if p.Kind&nvml.MPS != 0 {
				c.clients[i]++
			}
		}
	}
}

// nvmlReader asks NVIDIA's library.
type nvmlReader struct {
	sampler *nvml.Sampler
	held    map[held]bool
	failing complaint
}

func (r *nvmlReader) Read(pids []int, dst []Charge) ([]Charge, error) {
	forget(r.held, pids)
	if err := r.failing.tell(r.sampler.Sample(pids)); err != nil {
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

// answerBound is how long a driver may take to load and to describe its
// devices: one that is failing can take forever.
const answerBound = 5 * time.Second

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
