package ttmetal

import (
	"fmt"
	"slices"
	"sort"

	"github.com/gpumem/gpumem/tracer/record"
)

// Level is what a finding is worth.
type Level string

// The levels. No single dump proves a leak: what is in scope while it is
// taken is held rightly. Growth from run to run decides.
const (
	Normal  Level = "normal"  // expected to remain
	Note    Level = "note"    // explained, and how to get rid of it
	Suspect Level = "suspect" // worth a second run
)

// Finding is what one rule says of one device.
type Finding struct {
	Rule   string `json:"rule"`
	Level  Level  `json:"level"`
	Device int32  `json:"device"`
	Count  int    `json:"count"`
	Bytes  uint64 `json:"bytes"`
	Text   string `json:"text"`
}

// Thresholds are the bounds of the rules. The zero value means the defaults.
type Thresholds struct {
	SmallL1   uint64 // bytes of L1 a device that are normal; default 12 KiB
	SmallDRAM uint64 // bytes of DRAM a device below which it is normal; default 1 MiB
	LargeDRAM uint64 // bytes of DRAM a device above which it is suspect; default 100 MiB
	Refs      uint32 // references of a buffer above which it is suspect; default 2
}

func (t Thresholds) withDefaults() Thresholds {
	if t.SmallL1 == 0 {
		t.SmallL1 = 12 << 10
	}
	if t.SmallDRAM == 0 {
		t.SmallDRAM = 1 << 20
	}
	if t.LargeDRAM == 0 {
		t.LargeDRAM = 100 << 20
	}
	if t.Refs == 0 {
		t.Refs = 2
	}
	return t
}

// leftBy are the buffers that tt-metal itself leaves, by address and size, as
// found by its authors: three circular buffers whose free was never written
// (device 0), and two cached programs (a device).
var leftBy = struct {
	circular map[uint64]uint64
	programs map[uint64]uint64
}{
	circular: map[uint64]uint64{0x18b00: 4096, 0x19b00: 4096, 0x1ab00: 4096},
	programs: map[uint64]uint64{0x3ffff800: 12288, 0x3ffff000: 24576},
}

// deviceBooks are the buffers of one device, as the rules see them.
type deviceBooks struct {
	device             int32
	dram, l1, programs sum
	circular           sum // of the three known circular buffers
	shared             sum // buffers with more references than the threshold
	most               uint32
}

type sum struct {
	count int
	bytes uint64
}

func (s *sum) add(size uint64) { s.count++; s.bytes += size }

// Judge applies the rules to one dump. Its buffers must be known. The findings
// are in order of device and rule.
func Judge(d *Dump, t Thresholds) []Finding {
	t = t.withDefaults()
	twice := mesh(d.Buffers)
	byDevice := map[int32]*deviceBooks{}
	var out []Finding
	for i := range d.Buffers {
		b := &d.Buffers[i]
		if b.Space != "buffer" {
			continue
		}
		v := byDevice[b.Device]
		if v == nil {
			v = &deviceBooks{device: b.Device}
			byDevice[b.Device] = v
		}
		v.add(b, t, twice)
	}
	for _, v := range byDevice {
		out = append(out, v.judge(t)...)
	}
	for device, s := range twice.devices {
		out = append(out, Finding{
			Rule: "mesh-backing-buffer", Level: Note, Device: device, Count: s.count, Bytes: s.bytes,
			Text: "same address on every device, with 2 references only here: the backing buffer of a mesh " +
				"is reported twice, not referenced twice",
		})
	}
	sort.Slice(out, func(i, j int) bool {
		return out[i].Device < out[j].Device || out[i].Device == out[j].Device && out[i].Rule < out[j].Rule
	})
	return out
}

func (v *deviceBooks) add(b *Buffer, t Thresholds, twice meshTwins) {
	switch b.Memory {
	case record.MemoryDRAM:
		if leftBy.programs[uint64(b.ID)] == b.Size {
			v.programs.add(b.Size)
		}
		v.dram.add(b.Size)
	case record.MemoryL1:
		if leftBy.circular[uint64(b.ID)] == b.Size {
			v.circular.add(b.Size)
		}
		v.l1.add(b.Size)
	}
	if b.Refs > t.Refs && !twice.ids[b.ID] {
		v.shared.add(b.Size)
		v.most = max(v.most, b.Refs)
	}
}

func (v *deviceBooks) judge(t Thresholds) []Finding {
	var out []Finding
	say := func(rule string, level Level, s sum, text string) {
		if s.count > 0 {
			out = append(out, Finding{Rule: rule, Level: level, Device: v.device, Count: s.count,
				Bytes: s.bytes, Text: text})
		}
	}
	switch {
	case v.l1.count > 0 && v.l1 == v.circular:
		say("circular-buffers", Normal, v.l1,
			"circular buffers at their usual addresses; upstream never wrote their free")
	case v.l1.bytes <= t.SmallL1:
		say("small-l1", Normal, v.l1, "infrastructure such as circular buffers")
	default:
		say("l1", Note, v.l1,
			"more L1 than infrastructure takes: in scope when the dump was taken, or left; compare runs")
	}
	say("program-cache", Note, v.programs,
		"cached kernels, not a leak; disable_and_clear_program_cache frees them")
	dram := sum{v.dram.count - v.programs.count, v.dram.bytes - v.programs.bytes}
	switch {
	case dram.bytes > t.LargeDRAM:
		say("large-dram", Suspect, dram,
			"weights or a KV cache: in scope when the dump was taken, or leaked; compare runs")
	case dram.bytes < t.SmallDRAM:
		say("small-dram", Normal, dram, "system buffers")
	default:
		say("dram", Note, dram,
			"more than system buffers take: in scope when the dump was taken, or left; compare runs")
	}
	say("references", Suspect, v.shared, fmt.Sprintf("up to %d references keep these buffers", v.most))
	return out
}

// meshTwins are the buffers that a mesh device reports once more on one of its
// devices.
type meshTwins struct {
	ids     map[HexID]bool
	devices map[int32]sum
}

// mesh finds buffers at the same address on all devices, of at least two,
// with two references on exactly one.
func mesh(list []Buffer) meshTwins {
	m := meshTwins{map[HexID]bool{}, map[int32]sum{}}
	devices := map[int32]bool{}
	type seen struct{ on, twice, more int }
	at := map[HexID]*seen{}
	for i := range list {
		b := &list[i]
		if b.Space != "buffer" {
			continue
		}
		devices[b.Device] = true
		s := at[b.ID]
		if s == nil {
			s = &seen{}
			at[b.ID] = s
		}
		s.on++
		switch {
		case b.Refs == 2:
			s.twice++
		case b.Refs > 2:
			s.more++
		}
	}
	for i := range list {
		b := &list[i]
		if s := at[b.ID]; b.Space == "buffer" && b.Refs == 2 && len(devices) > 1 && s.on == len(devices) &&
			s.twice == 1 && s.more == 0 {
			m.ids[b.ID] = true
			v := m.devices[b.Device]
			v.add(b.Size)
			m.devices[b.Device] = v
		}
	}
	return m
}

// Since leaves out what dead processes had left before another dump of the
// same server.
func (d *Dump) Since(before *Dump) {
	if n := len(before.LeftByDead); n > 0 && before.Started.Equal(d.Started) {
		last := before.LeftByDead[n-1].Number
		d.LeftByDead = slices.DeleteFunc(d.LeftByDead, func(w Swept) bool { return w.Number <= last })
	}
}

// Remaining are the buffers of a dump and those that dead processes left, and
// their bytes; circular buffers and kernels are not counted. After Since the
// dump before a run it is what the run did not free, whether its process still
// lives or not.
func (d *Dump) Remaining() (count int64, bytes uint64) {
	for i := range d.Buffers {
		if b := &d.Buffers[i]; b.Space == "buffer" {
			count++
			bytes += b.Size
		}
	}
	for _, w := range d.LeftByDead {
		count += int64(w.Count[buffers])
		bytes += w.Bytes[buffers]
	}
	return count, bytes
}

// Text is the dump of the remaining buffers as the server sends it, but for the
// history.
func (d *Dump) Text(sixDigits bool) []byte {
	r := newRegistry(heap{}, 0)
	for i := range d.Buffers {
		if b := &d.Buffers[i]; b.Space == "buffer" && b.Device >= 0 && b.Device < MaxDevices {
			r.restore(slot{
				id: uint64(b.ID), device: b.Device, size: b.Size, pid: b.PID, refs: b.Refs,
				memory: memoryOf(b.Memory),
			})
		}
	}
	return appendLeft(r.AppendDump(nil, sixDigits), d.LeftByDead, numbers{sixDigits})
}

func memoryOf(name string) Memory {
	for m := range Memory(memories) {
		if m.String() == name {
			return m
		}
	}
	return DRAM
}
