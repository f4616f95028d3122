package ttmetal

import (
	"fmt"
	"sort"
	"strconv"
)

// Swept is what was taken off the books because its process is no more.
type Swept struct {
	Number uint64    `json:"number"` // from 1, in order, of one server
	PID    int32     `json:"pid"`
	Count  [3]int    `json:"count"` // buffers, circular buffers, kernels
	Bytes  [3]uint64 `json:"bytes"` // of each
}

// owner is a process as slots name it.
type owner struct {
	pid   int32
	start uint64
}

// Sweep takes the allocations of dead processes off the books and says which,
// in order of pid. It holds up a shard at a time.
func (r *Registry) Sweep(sys Processes) []Swept {
	owners := map[owner]bool{}
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		var last owner
		s.slots.each(func(_ uint32, v *slot) {
			if o := (owner{v.owner, v.start}); o != last {
				last, owners[o] = o, false
			}
		})
		s.mu.Unlock()
	}
	found := false
	for o := range owners {
		owners[o] = dead(sys, o.pid, o.start)
		found = found || owners[o]
	}
	if !found {
		return nil
	}
	return r.remove(owners)
}

// remove takes off the books what belongs to the owners that are true.
func (r *Registry) remove(dead map[owner]bool) []Swept {
	swept := map[int32]*Swept{}
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		s.slots.each(func(i uint32, v *slot) {
			if !dead[owner{v.owner, v.start}] {
				return
			}
			w := swept[v.pid]
			if w == nil {
				w = &Swept{PID: v.pid}
				swept[v.pid] = w
			}
			w.Count[v.space]++
			w.Bytes[v.space] += v.size
			r.tally(v.device).add(v.space, v.memory, -int64(v.size), -1)
			s.drop(key{v.id, v.device, v.space}, i)
		})
		s.mu.Unlock()
	}
	out := make([]Swept, 0, len(swept))
	for _, w := range swept {
		out = append(out, *w)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].PID < out[j].PID })
	return out
}

// shownLeft is how many ended processes a dump lists.
const shownLeft = 20

// appendLeft appends what ended processes had not freed, of the last ones:
// their buffers do not remain, which is no merit of theirs.
func appendLeft(b []byte, left []Swept, n numbers) []byte {
	shown := left[max(0, len(left)-shownLeft):]
	if earlier := len(left) - len(shown); earlier > 0 {
		b = fmt.Appendf(b, "Of %d processes more that have ended, see --json\n", earlier)
	}
	for _, w := range shown {
		b = fmt.Appendf(b, "Left by PID %d, which has ended: %d buffers (", w.PID, w.Count[buffers])
		b = append(n.mib(b, w.Bytes[buffers]), " MB)\n"...)
	}
	return b
}

// appendSwept appends the lines about dead processes; nothing when there are
// none.
func appendSwept(b []byte, swept []Swept, n numbers) []byte {
	if len(swept) == 0 {
		return b
	}
	b = append(b, "\n⚠️  Detected dead processes, cleaning up orphaned buffers...\n"...)
	for _, w := range swept {
		b = strconv.AppendInt(append(b, "   PID "...), int64(w.PID), 10)
		b = append(b, " is dead, removing its buffers...\n"...)
		for s, what := range [spaces]string{"buffers", "CBs", "kernels"} {
			if s > 0 && w.Count[s] == 0 {
				continue
			}
			b = strconv.AppendInt(append(b, "   ✓ Removed "...), int64(w.Count[s]), 10)
			b = append(append(append(b, ' '), what...), " ("...)
			b = n.mib(b, w.Bytes[s])
			b = strconv.AppendInt(append(b, " MB) from PID "...), int64(w.PID), 10)
			b = append(b, '\n')
		}
	}
	return append(b, '\n')
}
