package importer

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/gpumem/gpumem/tracer/record"
)

// Bounds of what is remembered of a saved log: so many buffers, and of each so
// many events and sizes.
const (
	maxPasts      = 1 << 18
	maxPastEvents = 10
	maxPastSizes  = 5
)

// Books is what the event log of an allocation server says of its buffers, each
// known by its device and address. Lists are in the order of devices; in one the
// most bytes come first.
type Books struct {
	Schema   int   `json:"schema"` // 1
	Events   int64 `json:"events"`
	Unique   int   `json:"unique"`
	Balanced int   `json:"balanced"`
	// Leaked have more allocations than frees, DoubleFreed more frees, Resized
	// allocations of more than one size: an address that was used again.
	Leaked      []PastBuffer `json:"leaked"`
	DoubleFreed []PastBuffer `json:"double_freed"`
	Resized     []PastBuffer `json:"resized"`
	// Unknown are frees of buffers that the log never saw allocated.
	Unknown int64 `json:"unknown_frees"`
	// Forgotten are events of buffers that there was no room for.
	Forgotten int64            `json:"forgotten_events,omitempty"`
	Warnings  []record.Warning `json:"-"`
}

// PastBuffer is one buffer's past.
type PastBuffer struct {
	Device int      `json:"device"`
	ID     string   `json:"id"` // hexadecimal
	Memory string   `json:"memory"`
	PID    int32    `json:"pid"`  // that allocated it last
	Size   uint64   `json:"size"` // of the last allocation
	Sizes  []uint64 `json:"sizes,omitempty"`
	Allocs uint64   `json:"allocs"`
	Frees  uint64   `json:"frees"`
	// Died is set when the process ended with it, and the server took it off its
	// books.
	Died bool        `json:"died,omitempty"`
	Last []PastEvent `json:"last,omitempty"` // oldest first
	// Allocated and Freed are where that was last done, innermost frame first,
	// when a log of stack traces was joined.
	Allocated []string `json:"allocated_at,omitempty"`
	Freed     []string `json:"freed_at,omitempty"`

	at bufferKey
}

// PastEvent is one line of the log.
type PastEvent struct {
	Line int    `json:"line"`
	What string `json:"what"` // ALLOC, REUSE, FREE
	Size uint64 `json:"size,omitempty"`
	PID  int32  `json:"pid"`
}

// ReadBooks reads the event log of an allocation server, of which name is what
// people call it, for what became of each buffer. Errors are those of ReadWith.
func ReadBooks(from io.Reader, name string) (*Books, error) {
	run := &record.Run{Path: name}
	r := newLogReader(bufio.NewReaderSize(from, SniffLen), run)
	r.past = map[bufferKey]*PastBuffer{}
	r.read()
	if r.rows.made == 0 && r.unknown == 0 {
		return nil, fmt.Errorf("read %s: %w", name,
			errors.Join(errors.New("no event of an allocation server could be read"), r.err))
	}
	r.stopped()
	b := &Books{Schema: 1, Events: int64(r.rows.made) + r.unknown, Unknown: r.strange, Forgotten: r.forgotten,
		Leaked: []PastBuffer{}, DoubleFreed: []PastBuffer{}, Resized: []PastBuffer{}, Warnings: run.Warnings}
	for _, p := range r.past {
		b.add(p)
	}
	for _, list := range [...][]PastBuffer{b.Leaked, b.DoubleFreed, b.Resized} {
		slices.SortFunc(list, func(a, c PastBuffer) int {
			return cmp.Or(cmp.Compare(a.Device, c.Device), cmp.Compare(c.Size, a.Size),
				cmp.Compare(a.at.id, c.at.id))
		})
	}
	return b, nil
}

func (b *Books) add(p *PastBuffer) {
	p.Device, p.ID = p.at.device, "0x"+strconv.FormatUint(p.at.id, 16)
	b.Unique++
	if len(p.Sizes) > 1 {
		b.Resized = append(b.Resized, *p)
	}
	switch {
	case p.Allocs > p.Frees:
		b.Leaked = append(b.Leaked, *p)
	case p.Frees > p.Allocs:
		b.DoubleFreed = append(b.DoubleFreed, *p)
	default:
		b.Balanced++
	}
}

// Join adds where buffers were allocated and freed, and returns how many of the
// leaked ones that is known of.
func (b *Books) Join(s *Stacks) (known int) {
	for _, list := range [...][]PastBuffer{b.Leaked, b.DoubleFreed, b.Resized} {
		for i := range list {
			p := &list[i]
			p.Allocated, p.Freed = s.allocated[p.at], s.freed[p.at]
		}
	}
	for i := range b.Leaked {
		if b.Leaked[i].Allocated != nil {
			known++
		}
	}
	return known
}

// pastOf is what is remembered of a buffer; nil where nothing is.
func (r *logReader) pastOf(at bufferKey, make bool) *PastBuffer {
	p := r.past[at]
	if p == nil && make {
		if len(r.past) >= maxPasts {
			r.forgotten++
			return nil
		}
		p = &PastBuffer{at: at}
		r.past[at] = p
	}
	return p
}

// rememberAlloc enters an allocation, shared when it added a reference.
func (r *logReader) rememberAlloc(at bufferKey, pid int32, memory string, size uint64, shared bool) {
	if r.past == nil {
		return
	}
	p := r.pastOf(at, true)
	if p == nil {
		return
	}
	p.Allocs++
	p.PID, p.Memory, p.Size, p.Died = pid, string([]byte(memory)), size, false
	if !slices.Contains(p.Sizes, size) && len(p.Sizes) < maxPastSizes {
		p.Sizes = append(p.Sizes, size)
	}
	what := "ALLOC"
	if shared {
		what = "REUSE"
	}
	p.happened(PastEvent{r.n, what, size, pid})
}

// rememberFree enters a free. One of a buffer that the log never saw is no
// double free: it was allocated before the log began.
func (r *logReader) rememberFree(at bufferKey, pid int32) {
	if r.past == nil {
		return
	}
	p := r.pastOf(at, false)
	if p == nil {
		r.strange++
		return
	}
	p.Frees++
	p.happened(PastEvent{Line: r.n, What: "FREE", PID: pid})
}

func (p *PastBuffer) happened(e PastEvent) {
	if len(p.Last) == maxPastEvents {
		p.Last = append(p.Last[:0], p.Last[1:]...)
	}
	p.Last = append(p.Last, e)
}
