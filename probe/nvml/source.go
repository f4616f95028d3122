package nvml

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/gpumem/gpumem/probe/source"
)

// SourceName is the source's name.
const SourceName = "nvml"

// OpenSource opens the library as a source of GPU bytes. A machine with the
// driver but without a device is an error here. When ctx is done a driver that
// does not answer is given up.
func OpenSource(ctx context.Context, o Options) (source.Source, error) {
	type opened struct {
		l       *Library
		devices []Device
	}
	got, err := within(ctx, SourceName, func() (opened, error) {
		l, err := Open(o)
		if err != nil {
			return opened{}, err
		}
		return opened{l, l.Devices()}, nil
	})
	if err != nil {
		return nil, err
	}
	if len(got.devices) == 0 {
		// Nothing was allocated yet; an error in closing changes nothing.
		_ = got.l.Close()
		return nil, errors.New(
			"nvml: the driver is here and shows no device; look at lspci and at the container's devices")
	}
	s := &gpus{l: got.l, version: got.l.DriverVersion()}
	for _, d := range got.devices {
		s.first = append(s.first, s.device(d))
	}
	return s, nil
}

// gpus is NVIDIA's library as a source.
type gpus struct {
	l       *Library
	version string
	first   []source.Device // as they were when the library was opened
	asking  atomic.Bool     // a call for the vitals is under way
}

func (s *gpus) Name() string     { return SourceName }
func (s *gpus) Limits() []string { return s.l.Limits() }
func (s *gpus) Close() error     { return s.l.Close() }

// device puts a device of the library into the shared type.
func (s *gpus) device(d Device) source.Device {
	out := source.Device{
		Index: d.Index, Source: SourceName, Driver: "nvidia", DriverVersion: s.version, Name: d.Name,
		UUID: d.UUID, PCI: d.PCI,
		TotalBytes: d.TotalBytes, UsedBytes: d.UsedBytes, ReservedBytes: d.ReservedBytes, Notes: d.Notes,
	}
	for _, p := range d.Instances {
		out.Instances = append(out.Instances,
			source.Instance{GPU: p.GPUInstance, Compute: p.ComputeInstance, UUID: p.UUID,
				TotalBytes: p.TotalBytes, UsedBytes: p.UsedBytes, HeldBytes: Unknown})
	}
	return out
}

func (s *gpus) Devices(ctx context.Context) []source.Device {
	now, err := within(ctx, SourceName, func() ([]Device, error) { return s.l.Devices(), nil })
	if err == nil && len(now) < len(s.first) {
		err = &Error{Op: "describe the devices", Device: -1, Text: ErrClosed.Error(), is: ErrClosed}
	}
	list := make([]source.Device, len(s.first))
	for i, d := range s.first {
		list[i] = d
		if i < len(now) {
			list[i] = s.device(now[i])
		} else {
			list[i].UsedBytes = Unknown
			list[i].Notes = append(d.Notes[:len(d.Notes):len(d.Notes)], fmt.Sprint(err))
		}
	}
	return list
}

func (s *gpus) Charges(ctx context.Context, _ []int) source.Holdings {
	h := source.Holdings{Devices: make([]source.Held, len(s.first))}
	for i := range s.first {
		list, err := within(ctx, "nvml: list processes", func() ([]Process, error) {
			return s.l.Processes(i)
		})
		if err != nil {
			h.Warnings = append(h.Warnings, err.Error())
			h.Devices[i] = source.Held{Bytes: Unknown, Silent: true}
			continue
		}
		h.Charges = append(h.Charges, chargesOf(i, list, &h.Devices[i])...)
	}
	return h
}

// chargesOf charges the processes of one device, the parts of a split one
// together, and sums them up.
func chargesOf(device int, list []Process, held *source.Held) []source.Charge {
	var out []source.Charge
	at := make(map[int]int, len(list))
	parts := map[[2]int]int{}
	for _, p := range list {
		if k, again := at[p.PID]; again {
			out[k].LocalBytes = source.Add(out[k].LocalBytes, p.Bytes)
		} else {
			at[p.PID] = len(out)
			out = append(out, source.Charge{PID: p.PID, Device: device, LocalBytes: p.Bytes,
				HostBytes: Unknown})
		}
		held.Bytes = source.Add(held.Bytes, p.Bytes)
		if p.Kind&MPS != 0 {
			held.MPSClients++
		}
		if p.GPUInstance == NoInstance {
			continue
		}
		key := [2]int{p.GPUInstance, p.ComputeInstance}
		k, known := parts[key]
		if !known {
			k = len(held.Parts)
			parts[key] = k
			held.Parts = append(held.Parts, source.Part{GPU: key[0], Compute: key[1]})
		}
		held.Parts[k].Bytes = source.Add(held.Parts[k].Bytes, p.Bytes)
	}
	return out
}

func (s *gpus) Reader() source.Reader { return &reader{s.l.NewSampler()} }

// reader asks by a sampler.
type reader struct{ sampler *Sampler }

func (r *reader) Read(pids []int, dst []source.Charge) ([]source.Charge, error) {
	err := r.sampler.Sample(pids)
	for i, pid := range pids {
		if errors.Is(err, ErrClosed) || r.sampler.Bytes(i) == Unknown {
			// A device that holds some of it does not answer, or tells no figure.
			dst = append(dst, source.Untold(pid))
			continue
		}
		for d := range r.sampler.Devices() {
			if b := r.sampler.DeviceBytes(i, d); b > 0 {
				dst = append(dst, source.Charge{PID: pid, Device: d, LocalBytes: b, HostBytes: Unknown})
			}
		}
	}
	return dst, err
}

func (r *reader) Close() { r.sampler.Close() }

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
