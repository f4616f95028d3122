package ttmetal

import (
	"fmt"
	"sort"
	"strconv"
	"time"
)

// Bounds of the history mode: HistoryEvents are kept of a buffer and the last
// shownEvents printed; a shard remembers at most mostRemembered buffers.
const (
	HistoryEvents  = 50
	shownEvents    = 5
	mostRemembered = 1 << 14
)

// history is what happened to one buffer id, also after it was freed.
type history struct {
	allocs, frees uint64
	size          uint64      // of the last allocation
	resized       bool        // not all allocations had one size
	last          []pastEvent // a ring once it is full
	next          int
}

// pastEvent is one event in a buffer's past.
type pastEvent struct {
	at   int64 // ns since the epoch
	size uint64
	pid  int32
	refs uint32
	what string // ALLOC, FREE, REUSE
}

// remember adds an event to the past of its buffer. The shard is locked.
func (s *shard) remember(k key, e *Event, most int, now time.Time) {
	h := s.past[k]
	if h == nil {
		if len(s.past) >= mostRemembered {
			s.forgotten++
			return
		}
		h = &history{}
		s.past[k] = h
	}
	if e.Kind == Alloc {
		h.resized = h.resized || h.size != 0 && h.size != e.Size
		h.size = e.Size
	}
	p := pastEvent{at: now.UnixNano(), size: e.Size, pid: e.PID, refs: e.Refs, what: "FREE"}
	switch {
	case e.Kind == Free:
		h.frees++
	case e.Refs > 1:
		h.allocs, p.what = h.allocs+1, "REUSE"
	default:
		h.allocs, p.what = h.allocs+1, "ALLOC"
	}
	if len(h.last) < most {
		h.last = append(h.last, p)
		return
	}
	h.last[h.next] = p
	h.next = (h.next + 1) % most
}

// tail is the last n events, oldest first.
func (h *history) tail(n int) []pastEvent {
	n = min(n, len(h.last))
	out := make([]pastEvent, 0, n)
	for i := len(h.last) - n; i < len(h.last); i++ {
		out = append(out, h.last[(h.next+i)%len(h.last)])
	}
	return out
}

// uneven is a buffer whose allocations and frees do not match.
type uneven struct {
	key           key
	allocs, frees uint64
}

// pasts is what the history says of all buffers.
type pasts struct {
	leaked, doubleFreed       []uneven // by device and id
	unique, balanced, resized int      // buffers
	forgotten                 uint64   // events of buffers there was no room for
}

func (r *Registry) pasts() (p pasts) {
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		p.unique, p.forgotten = p.unique+len(s.past), p.forgotten+s.forgotten
		for k, h := range s.past {
			if h.resized {
				p.resized++
			}
			switch u := (uneven{k, h.allocs, h.frees}); {
			case h.allocs > h.frees:
				p.leaked = append(p.leaked, u)
			case h.frees > h.allocs:
				p.doubleFreed = append(p.doubleFreed, u)
			default:
				p.balanced++
			}
		}
		s.mu.Unlock()
	}
	for _, list := range [...][]uneven{p.leaked, p.doubleFreed} {
		sort.Slice(list, func(i, j int) bool {
			a, b := list[i].key, list[j].key
			return a.device < b.device || a.device == b.device && a.id < b.id
		})
	}
	return p
}

// shownUneven bounds the lists of the report on stopping.
const shownUneven = 20

// AppendUneven appends the report on leaked and double-freed buffers that the
// history mode prints when the server stops; nothing without history.
func (r *Registry) AppendUneven(b []byte) []byte {
	if r.history == 0 {
		return b
	}
	p := r.pasts()
	b = fmt.Appendf(b, "History: %d buffers, %d balanced, %d leaked, %d double-freed, %d of changing size\n",
		p.unique, p.balanced, len(p.leaked), len(p.doubleFreed), p.resized)
	if p.forgotten > 0 {
		b = fmt.Appendf(b,
			"⚠ %d events are of buffers there was no room for: they are not in these numbers\n", p.forgotten)
	}
	for _, part := range [...]struct {
		title string
		list  []uneven
	}{{"Leaked buffers (allocations > frees)", p.leaked},
		{"Double-freed buffers (frees > allocations)", p.doubleFreed}} {
		b = append(append(b, part.title...), ": "...)
		b = append(strconv.AppendInt(b, int64(len(part.list)), 10), '\n')
		for i, u := range part.list {
			if i == shownUneven {
				b = append(b, "  ...\n"...)
				break
			}
			b = strconv.AppendInt(append(b, "  Device "...), int64(u.key.device), 10)
			b = strconv.AppendUint(append(b, ": Buffer 0x"...), u.key.id, 16)
			b = strconv.AppendUint(append(b, " allocated "...), u.allocs, 10)
			b = strconv.AppendUint(append(b, " times, freed "...), u.frees, 10)
			b = append(b, " times\n"...)
		}
	}
	return b
}
