package ttmetal

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/gpumem/gpumem/probe/source"
)

// SourceName is the source's name.
const SourceName = "ttmetal"

// errClosed is the answer after Close.
var errClosed = errors.New("used after close")

// OpenSource opens the shared memory of Tenstorrent's programs as a source of
// GPU bytes; root is as in Open.
func OpenSource(root string) (source.Source, error) {
	r, err := Open(root)
	if err != nil {
		return nil, err
	}
	list, err := r.Devices()
	if len(list) == 0 {
		return nil, fmt.Errorf("ttmetal: no device's file can be read: %w", oneLine(err))
	}
	s := &boards{r: r, at: map[uint64]int{}}
	for i := range list {
		d := &list[i]
		if _, known := s.at[d.ASIC]; known {
			continue
		}
		s.at[d.ASIC] = len(s.devices)
		// What a device has in all is not told.
		s.devices = append(s.devices, source.Device{
			Index: len(s.devices), Source: SourceName, Driver: "tenstorrent",
			Name: fmt.Sprintf("Tenstorrent device %d", d.Number),
			UUID: fmt.Sprintf("%x", d.ASIC), TotalBytes: source.Unknown, UsedBytes: bytesOf(d.Total),
			ReservedBytes: source.Unknown,
		})
	}
	return s, nil
}

// bytesOf is a sum that a file holds, Unknown for one that no device has.
func bytesOf(m Memory) int64 {
	total := int64(0)
	for _, v := range [...]uint64{m.DRAM, m.L1, m.L1Small, m.Trace, m.CB, m.Kernel} {
		if v > math.MaxInt64/8 {
			return source.Unknown
		}
		total += int64(v)
	}
	return total
}

// kindsOf are the kinds of a device's memory that something is in.
func kindsOf(m Memory) []source.Kind {
	var list []source.Kind
	for _, k := range [...]struct {
		name  string
		bytes uint64
	}{{"DRAM", m.DRAM}, {"L1", m.L1}, {"L1_SMALL", m.L1Small}, {"TRACE", m.Trace}, {"CB", m.CB},
		{"KERNEL", m.Kernel}} {
		if k.bytes > math.MaxInt64/8 {
			return nil // no device has that: the file is not to be believed
		}
		if k.bytes > 0 {
			list = append(list, source.Kind{Name: k.name, Bytes: int64(k.bytes)})
		}
	}
	return list
}

// oneLine joins the errors of several files.
func oneLine(err error) error {
	if err == nil {
		return errors.New("the file of a device is gone")
	}
	return &joined{err, strings.ReplaceAll(err.Error(), "\n", "; ")}
}

type joined struct {
	error
	text string
}

func (j *joined) Error() string { return j.text }
func (j *joined) Unwrap() error { return j.error }

// boards are the devices as a source. Processes are charged with what they
// entered themselves, also those that died and that nobody swept.
type boards struct {
	r       *Reader
	devices []source.Device
	at      map[uint64]int // number of a device by its ASIC
	closed  atomic.Bool
}

func (s *boards) Name() string     { return SourceName }
func (s *boards) Limits() []string { return nil }

func (s *boards) Close() error {
	s.closed.Store(true)
	return nil
}

// read is what the files of our devices say now, nil for one whose file cannot
// be read. The error is nil when all could.
func (s *boards) read() ([]*Device, error) {
	now := make([]*Device, len(s.devices))
	if s.closed.Load() {
		return now, fmt.Errorf("ttmetal: %w", errClosed)
	}
	list, err := s.r.Devices()
	for i := range list {
		if k, ok := s.at[list[i].ASIC]; ok { // others came later
			now[k] = &list[i]
		}
	}
	if err != nil || slices.Contains(now, nil) {
		return now, fmt.Errorf("ttmetal: %w", oneLine(err))
	}
	return now, nil
}

func (s *boards) Devices(context.Context) []source.Device {
	list := slices.Clone(s.devices)
	now, err := s.read()
	for i := range list {
		list[i].UsedBytes = source.Unknown
		if now[i] != nil {
			list[i].UsedBytes, list[i].Kinds = bytesOf(now[i].Total), kindsOf(now[i].Total)
		} else {
			list[i].Notes = append(slices.Clone(list[i].Notes), err.Error())
		}
	}
	return list
}

func (s *boards) Charges(context.Context, []int) source.Holdings {
	h := source.Holdings{Devices: make([]source.Held, len(s.devices))}
	now, err := s.read()
	if err != nil {
		h.Warnings = append(h.Warnings, err.Error())
	}
	for i, d := range now {
		if d == nil {
			h.Devices[i] = source.Held{Bytes: source.Unknown, Silent: true}
			continue
		}
		start := len(h.Charges)
		h.Charges = chargesOf(i, d, h.Charges)
		for _, c := range h.Charges[start:] {
			h.Devices[i].Bytes = source.Add(h.Devices[i].Bytes, c.LocalBytes)
		}
	}
	return h
}

// chargesOf appends what a device holds for processes, the entries of one
// process together. A file has 64 entries at most.
func chargesOf(device int, d *Device, list []source.Charge) []source.Charge {
	start := len(list)
	for i := range d.Processes {
		p := &d.Processes[i]
		k := slices.IndexFunc(list[start:], func(c source.Charge) bool { return c.PID == p.PID })
		if k >= 0 {
			c := &list[start+k]
			c.LocalBytes = source.Add(c.LocalBytes, bytesOf(p.Used))
			continue
		}
		list = append(list, source.Charge{PID: p.PID, Device: device, LocalBytes: bytesOf(p.Used),
			HostBytes: source.Unknown})
	}
	return list
}

func (s *boards) Reader() source.Reader { return &reader{s: s} }

// reader reads the same files again and again.
type reader struct {
	s       *boards
	charges []source.Charge
}

func (r *reader) Read(pids []int, dst []source.Charge) ([]source.Charge, error) {
	now, err := r.s.read()
	r.charges = r.charges[:0]
	for i, d := range now {
		if d != nil {
			r.charges = chargesOf(i, d, r.charges)
		}
	}
	for _, pid := range pids {
		if slices.Contains(now, nil) {
			dst = append(dst, source.Untold(pid)) // the device may hold some of it
			continue
		}
		for _, c := range r.charges {
			if c.PID == pid {
				dst = append(dst, c)
			}
		}
	}
	return dst, err
}

func (r *reader) Close() {}
