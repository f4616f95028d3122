package ttmetal

import (
	"sort"
	"strconv"
	"time"
)

// listed is how many buffers a group of a dump may have to be listed one by
// one.
const listed = 10

// group is the live allocations of one device and memory (of one device, for
// circular buffers and kernels).
type group struct {
	device int32
	space  space
	memory Memory // for buffers
	count  int
	bytes  uint64
	list   []line // all when there are few, else nil
}

// line is one buffer of a dump.
type line struct {
	slot slot
	past []pastEvent
}

// groups adds up the books of some spaces, by device and memory. It holds up
// a shard at a time; what one connection sent before is always in it.
func (r *Registry) groups(of ...space) []group {
	type name struct {
		device int32
		space  space
		memory Memory
	}
	all := map[name]*group{}
	var want [spaces]bool
	for _, s := range of {
		want[s] = true
	}
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		var last *group
		s.slots.each(func(_ uint32, v *slot) {
			if !want[v.space] {
				return
			}
			n := name{device: v.device, space: v.space}
			if v.space == buffers {
				n.memory = v.memory
			}
			g := last
			if g == nil || g.device != n.device || g.space != n.space || g.memory != n.memory {
				if g = all[n]; g == nil {
					g = &group{device: n.device, space: n.space, memory: n.memory}
					all[n] = g
				}
				last = g
			}
			g.count++
			g.bytes += v.size
			if g.count <= listed || v.space == kernels {
				g.list = append(g.list, line{slot: *v, past: s.pastOf(v)})
			}
		})
		s.mu.Unlock()
	}
	return ordered(all)
}

func (s *shard) pastOf(v *slot) []pastEvent {
	if h := s.past[key{v.id, v.device, v.space}]; h != nil && v.space == buffers {
		return h.tail(shownEvents)
	}
	return nil
}

func ordered[N comparable](all map[N]*group) []group {
	out := make([]group, 0, len(all))
	for _, g := range all {
		out = append(out, *g)
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := &out[i], &out[j]
		switch {
		case a.device != b.device:
			return a.device < b.device
		case a.space != b.space:
			return a.space < b.space
		}
		return a.memory < b.memory
	})
	for _, g := range out {
		sort.Slice(g.list, func(i, j int) bool { return g.list[i].slot.id < g.list[j].slot.id })
	}
	return out
}

const boxTop = "\n╔══════════════════════════════════════════════════════════════╗\n"
const boxEnd = "╚══════════════════════════════════════════════════════════════╝\n"

// AppendDump appends the dump of the remaining buffers.
func (r *Registry) AppendDump(b []byte, sixDigits bool) []byte {
	n := numbers{sixDigits}
	groups := r.groups(buffers)
	total := 0
	for _, g := range groups {
		total += g.count
	}
	b = append(append(append(b, boxTop...),
		"║           REMAINING ALLOCATED BUFFERS                       ║\n"...), boxEnd...)
	b = strconv.AppendInt(append(b, "Total tracked allocations: "...), int64(total), 10)
	b = append(b, "\n\n"...)
	if total == 0 {
		return append(b, "✓ No buffers remaining - perfect cleanup!\n"...)
	}
	for i, g := range groups {
		if i == 0 || groups[i-1].device != g.device {
			b = strconv.AppendInt(append(b, "Device "...), int64(g.device), 10)
			b = append(b, ":\n"...)
		}
		b = appendGroup(b, &g, n)
		if i == len(groups)-1 || groups[i+1].device != g.device {
			b = append(b, '\n')
		}
	}
	b = strconv.AppendInt(append(b, "Total remaining buffers: "...), int64(total), 10)
	return append(b, "\n\n"...)
}

func appendGroup(b []byte, g *group, n numbers) []byte {
	b = append(append(append(b, "  "...), g.memory.String()...), ": "...)
	b = strconv.AppendInt(b, int64(g.count), 10)
	b = n.mib(append(b, " buffers, "...), g.bytes)
	b = append(b, " MB total\n"...)
	if g.count > listed {
		return b
	}
	for _, l := range g.list {
		b = strconv.AppendUint(append(b, "    - Buffer 0x"...), l.slot.id, 16)
		b = n.kib(append(b, ": "...), l.slot.size)
		b = strconv.AppendInt(append(b, " KB (PID "...), int64(l.slot.pid), 10)
		b = strconv.AppendUint(append(b, ", ref_count="...), uint64(l.slot.refs), 10)
		b = append(b, ")\n"...)
		for _, p := range l.past {
			b = appendPast(b, p)
		}
	}
	return b
}

func appendPast(b []byte, p pastEvent) []byte {
	b = time.Unix(0, p.at).UTC().AppendFormat(append(b, "        "...), "15:04:05.000 ")
	b = append(append(b, p.what...), ' ')
	b = strconv.AppendUint(b, p.size, 10)
	b = strconv.AppendInt(append(b, " bytes (PID "...), int64(p.pid), 10)
	b = strconv.AppendUint(append(b, ", ref_count="...), uint64(p.refs), 10)
	return append(b, ")\n"...)
}

// AppendKernels appends the dump of the loaded kernels.
func (r *Registry) AppendKernels(b []byte, sixDigits bool) []byte {
	n, now := numbers{sixDigits}, r.now()
	groups := r.groups(kernels)
	total := 0
	for _, g := range groups {
		total += g.count
	}
	b = append(append(append(b, boxTop...),
		"║           DETAILED KERNEL ALLOCATIONS                       ║\n"...), boxEnd...)
	b = strconv.AppendInt(append(b, "Total kernel allocations: "...), int64(total), 10)
	b = append(b, '\n')
	for _, g := range groups {
		b = strconv.AppendInt(append(b, "\n📊 Device "...), int64(g.device), 10)
		b = n.mib(append(b, " - Total: "...), g.bytes)
		b = strconv.AppendInt(append(b, " MB ("...), int64(g.count), 10)
		b = append(b, " kernels)\n"...)
		for _, l := range g.list {
			age := max(now.Sub(time.Unix(0, int64(l.slot.time))), 0) / time.Second
			b = strconv.AppendUint(append(b, "  │ Kernel ID: 0x"...), l.slot.id, 16)
			b = n.kib(append(b, "\n  │   Size:      "...), l.slot.size)
			b = strconv.AppendInt(append(b, " KB\n  │   Owner PID: "...), int64(l.slot.pid), 10)
			b = strconv.AppendInt(append(b, "\n  │   Age:       "...), int64(age), 10)
			b = append(b, " seconds\n  │\n"...)
		}
	}
	return b
}

// AppendStatistics appends the counters of every device with something on the
// books. The first four lines of a device are those of the tt-metal server;
// the memories it left out follow when they hold something.
func (r *Registry) AppendStatistics(b []byte, sixDigits bool) []byte {
	n := numbers{sixDigits}
	b = append(b, "\n📊 Current Statistics:\n"...)
	for d := range r.devices {
		t := r.devices[d].Load()
		if t == nil {
			continue
		}
		count, used := t.count[buffers].Load(), r.used(int32(d))
		var total, all uint64
		for c, v := range used {
			all += v
			if Counter(c) <= CountTrace {
				total += v
			}
		}
		if count == 0 && all == 0 {
			continue
		}
		b = strconv.AppendInt(append(b, "  Device "...), int64(d), 10)
		b = strconv.AppendInt(append(b, ":\n    Buffers: "...), count, 10)
		b = append(b, '\n')
		for c, v := range used {
			if c := Counter(c); c == CountDRAM || c == CountL1 {
				b = appendCounter(b, c, v, n)
			}
		}
		b = strconv.AppendUint(append(b, "    Total: "...), total, 10)
		b = append(b, " bytes\n"...)
		for c := CountL1Small; c < counters; c++ {
			if used[c] > 0 {
				b = appendCounter(b, c, used[c], n)
			}
		}
	}
	b = strconv.AppendInt(append(b, "  Active allocations: "...), r.Live(), 10)
	return append(b, '\n')
}

func appendCounter(b []byte, c Counter, v uint64, n numbers) []byte {
	b = append(append(append(b, "    "...), c.String()...), ": "...)
	b = n.kib(append(strconv.AppendUint(b, v, 10), " bytes ("...), v)
	return append(b, " KB)\n"...)
}
