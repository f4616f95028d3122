package ttmetal

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"strconv"
	"time"
)

// Dump is the books as JSON.
type Dump struct {
	Schema  int       `json:"schema"` // 1
	Time    time.Time `json:"time"`
	Started time.Time `json:"started"` // the server, zero when it is not known
	Active  int64     `json:"active"`  // buffers, without circular buffers and kernels
	Devices []Device  `json:"devices"`
	Counts  *Counts   `json:"counts,omitempty"` // nil when another program serves
	// LeftByDead is what processes had not freed when they ended, as far as it
	// was taken off the books since the server started: the last 10,000.
	LeftByDead []Swept `json:"left_by_dead,omitempty"`
	// Holdings is what each process has on each device; only in an answer to
	// DumpSums, which has no Buffers.
	Holdings []Holding `json:"holdings,omitempty"`
	// Buffers are all live allocations, by device, space and id; nil when they
	// are not known.
	Buffers []Buffer `json:"buffers"`
}

// Device is the byte counters of one device by name (DRAM, L1, L1_SMALL,
// TRACE, CB, KERNEL), and its live allocations by space.
type Device struct {
	Device int32             `json:"device"`
	Used   map[string]uint64 `json:"used"`
	// Capacity is what the device has of a memory, as the server was told.
	Capacity map[string]uint64 `json:"capacity,omitempty"`

	Buffers int64 `json:"buffers"`
	CBs     int64 `json:"cbs"`
	Kernels int64 `json:"kernels"`
}

// Buffer is one live allocation.
type Buffer struct {
	Device int32  `json:"device"`
	Space  string `json:"space"`  // buffer, cb, kernel
	Memory string `json:"memory"` // of a buffer: DRAM …; of a kernel its class
	ID     HexID  `json:"id"`
	Size   uint64 `json:"size"`
	PID    int32  `json:"pid"`
	Refs   uint32 `json:"refs"`
	TimeNs uint64 `json:"time_ns"`
}

// HexID is an id, written "0x3fffe800" in JSON: not every reader of JSON keeps
// 64 bits of a number.
type HexID uint64

// MarshalText writes the id in hexadecimal.
func (h HexID) MarshalText() ([]byte, error) {
	return strconv.AppendUint([]byte("0x"), uint64(h), 16), nil
}

// UnmarshalText reads an id in any base that Go literals have.
func (h *HexID) UnmarshalText(b []byte) error {
	v, err := strconv.ParseUint(string(b), 0, 64)
	if err != nil {
		return fmt.Errorf("read id: %w", err)
	}
	*h = HexID(v)
	return nil
}

// Totals are the counters of the devices with something on the books.
func (r *Registry) Totals() []Device {
	out := []Device{}
	for d := range r.devices {
		t := r.devices[d].Load()
		if t == nil {
			continue
		}
		row := Device{
			Device: int32(d), Used: map[string]uint64{},
			Buffers: t.count[buffers].Load(), CBs: t.count[circular].Load(), Kernels: t.count[kernels].Load(),
		}
		var all uint64
		for c, v := range r.used(int32(d)) {
			row.Used[Counter(c).String()] = v
			all += v
		}
		if all > 0 || row.Buffers > 0 || row.CBs > 0 || row.Kernels > 0 {
			out = append(out, row)
		}
	}
	return out
}

// Each calls f for every live allocation, in no order. It holds up a shard of
// the books at a time, not while f runs.
func (r *Registry) Each(f func(Buffer) error) error {
	var copied []slot
	for i := range r.shards {
		s := &r.shards[i]
		copied = copied[:0]
		s.mu.Lock()
		if n := len(s.index); cap(copied) < n {
			copied = make([]slot, 0, n+n/8)
		}
		s.slots.each(func(_ uint32, v *slot) { copied = append(copied, *v) })
		s.mu.Unlock()
		for j := range copied {
			if err := f(copied[j].buffer()); err != nil {
				return err
			}
		}
	}
	return nil
}

func (v *slot) buffer() Buffer {
	b := Buffer{
		Device: v.device, Space: [...]string{"buffer", "cb", "kernel"}[v.space],
		ID: HexID(v.id), Size: v.size, PID: v.pid, Refs: v.refs, TimeNs: v.time,
	}
	switch v.space {
	case buffers:
		b.Memory = v.memory.String()
	case kernels:
		b.Memory = kernelClass(v.memory)
	}
	return b
}

// writeJSON writes the books to a connection, buffers in no order, one a line.
func (s *Server) writeJSON(to io.Writer) error {
	s.sending <- struct{}{}
	defer func() { <-s.sending }()
	counts := s.Counts()
	head, err := json.Marshal(Dump{
		Schema: 1, Time: s.books.now().UTC(), Started: s.started.UTC(), Active: s.books.Live(),
		Devices: s.books.Totals(), Counts: &counts,
		LeftByDead: s.leftByDead(), Buffers: []Buffer{},
	})
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(to, 64<<10)
	w.Write(head[:len(head)-len("]}")]) //nolint:errcheck // Flush tells
	var row []byte
	first := true
	err = s.books.Each(func(b Buffer) error {
		row = append(row[:0], ",\n"...)
		if first {
			row, first = append(row[:0], '\n'), false
		}
		_, err := w.Write(b.appendJSON(row))
		return err
	})
	if err != nil {
		return err
	}
	w.WriteString("\n]}\n") //nolint:errcheck // Flush tells
	return w.Flush()
}

// writeSums writes the books to a connection without their buffers.
func (s *Server) writeSums(to io.Writer) error {
	s.sending <- struct{}{}
	defer func() { <-s.sending }()
	counts := s.Counts()
	d := Dump{Schema: 1, Time: s.books.now().UTC(), Started: s.started.UTC(), Active: s.books.Live(),
		Devices: s.books.Totals(), Counts: &counts, Holdings: s.books.Holdings()}
	for i := range d.Devices {
		info := s.o.Devices[d.Devices[i].Device]
		for _, c := range [...]struct {
			of    Counter
			bytes uint64
		}{{CountDRAM, info.DRAMBytes}, {CountL1, info.L1Bytes}} {
			if c.bytes == 0 {
				continue
			}
			if d.Devices[i].Capacity == nil {
				d.Devices[i].Capacity = map[string]uint64{}
			}
			d.Devices[i].Capacity[c.of.String()] = c.bytes
		}
	}
	return json.NewEncoder(to).Encode(d)
}

// appendJSON is what encoding/json would write, ten times as fast: a dump may
// hold millions. No value needs to be escaped.
func (b *Buffer) appendJSON(row []byte) []byte {
	row = strconv.AppendInt(append(row, `{"device":`...), int64(b.Device), 10)
	row = append(append(append(row, `,"space":"`...), b.Space...), `","memory":"`...)
	row = append(append(row, b.Memory...), `","id":"0x`...)
	row = strconv.AppendUint(row, uint64(b.ID), 16)
	row = strconv.AppendUint(append(row, `","size":`...), b.Size, 10)
	row = strconv.AppendInt(append(row, `,"pid":`...), int64(b.PID), 10)
	row = strconv.AppendUint(append(row, `,"refs":`...), uint64(b.Refs), 10)
	row = strconv.AppendUint(append(row, `,"time_ns":`...), b.TimeNs, 10)
	return append(row, '}')
}

// ReadDump reads a dump in JSON and puts its buffers in order.
func ReadDump(from io.Reader) (*Dump, error) {
	var d Dump
	if err := json.NewDecoder(from).Decode(&d); err != nil {
		return nil, fmt.Errorf("read dump: %w", err)
	}
	if d.Schema != 1 {
		return nil, fmt.Errorf("read dump: schema %d is not known", d.Schema)
	}
	sort.Slice(d.Buffers, func(i, j int) bool {
		a, b := &d.Buffers[i], &d.Buffers[j]
		switch {
		case a.Device != b.Device:
			return a.Device < b.Device
		case a.Space != b.Space:
			return a.Space < b.Space
		}
		return a.ID < b.ID
	})
	return &d, nil
}
