package ttmetal

import "sort"

// Holding is what one process has on the books of one device, circular
// buffers and kernels included.
type Holding struct {
	PID    int32 `json:"pid"`             // as the program says
	Owner  int32 `json:"owner,omitempty"` // as this system says, 0 is not known
	Device int32 `json:"device"`
	Count  int64 `json:"buffers"` // circular buffers and kernels not counted
	Bytes  int64 `json:"bytes"`
	// DRAM and L1 are the buffers in them, of Bytes.
	DRAM int64 `json:"dram_bytes"`
	L1   int64 `json:"l1_bytes"`
}

// Holdings adds up the books by process and device, in their order. It holds
// up a shard at a time and copies nothing.
func (r *Registry) Holdings() []Holding {
	type name struct{ pid, owner, device int32 }
	all := map[name]*Holding{}
	for i := range r.shards {
		s := &r.shards[i]
		var last *Holding
		s.mu.Lock()
		s.slots.each(func(_ uint32, v *slot) {
			h := last
			if h == nil || h.PID != v.pid || h.Owner != v.owner || h.Device != v.device {
				n := name{v.pid, v.owner, v.device}
				if h = all[n]; h == nil {
					h = &Holding{PID: v.pid, Owner: v.owner, Device: v.device}
					all[n] = h
				}
				last = h
			}
			h.Bytes += int64(v.size)
			if v.space != buffers {
				return
			}
			h.Count++
			switch v.memory {
			case DRAM:
				h.DRAM += int64(v.size)
			case L1:
				h.L1 += int64(v.size)
			}
		})
		s.mu.Unlock()
	}
	out := make([]Holding, 0, len(all))
	for _, h := range all {
		out = append(out, *h)
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := &out[i], &out[j]
		switch {
		case a.PID != b.PID:
			return a.PID < b.PID
		case a.Owner != b.Owner:
			return a.Owner < b.Owner
		}
		return a.Device < b.Device
	})
	return out
}
