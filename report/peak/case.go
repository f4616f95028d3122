package peak

import (
	"slices"
	"strings"

	"github.com/gpumem/gpumem/tracer/record"
)

// Names of categories, as agents tell them.
const (
	parameters = "parameters"
	gradients  = "gradients"
	optimizer  = "optimizer state"
	buffers    = "buffers"
	tensors    = "other tensors of Python"
	unseen     = "held by autograd or C++"
)

// smallRequest is the largest request that PyTorch serves from its pool for small
// blocks, in bytes.
const smallRequest = 1 << 20

// contextBytes is the most that a process's CUDA context was seen to take beside its
// allocator (H100, driver 580: 0.5 GiB; with libraries loaded 1.2 GiB).
const contextBytes = 3 << 29

// ooms is one error with what follows from its numbers.
type ooms struct {
	*record.OOM
	growth Growth

	live, idle int64
	room       int64   // that the allocator could still have taken from the device
	limited    bool    // by the program's own limit, not by the device
	rose       float64 // seconds for which live bytes rose steadily before the error
	known      bool    // live, idle and room are
	outside    int64   // bytes of other processes on the device
	beside     int64   // bytes of this process that the allocator does not know of; 0 for unknown, too
	others     []record.HeldBy
	own        record.Pool // what the request could have been served from
	elsewhere  record.Pool // of other streams and private pools: the one with the largest block
}

// newCase takes what the allocator of process pid said, and who was on the devices then.
func newCase(d *record.OOM, pid int, others []record.HeldBy, g Growth) *ooms {
	c := &ooms{OOM: d, growth: g}
	if d.Allocated != nil && d.Reserved != nil && d.Free != nil {
		c.known = true
		c.live, c.idle = *d.Allocated, *d.Reserved-*d.Allocated
		c.room = *d.Free
		if d.Limit != nil && d.Capacity != nil && *d.Limit < *d.Capacity {
			if left := *d.Limit - *d.Reserved; left < c.room {
				c.room, c.limited = max(left, 0), true
			}
		}
	}
	for _, o := range others {
		if o.PID == pid && o.Device == d.Device && d.Reserved != nil {
			c.beside = max(o.Bytes-*d.Reserved-contextBytes, 0)
		}
		if o.PID != pid && o.Device == d.Device {
			c.outside += o.Bytes
			c.others = append(c.others, o)
		}
	}
	if c.others == nil && c.known && d.Capacity != nil {
		// Nobody named them: what is neither free nor ours, less a context.
		c.outside = max(*d.Capacity-*d.Free-*d.Reserved-contextBytes, 0)
	}
	for _, b := range d.Beside {
		c.beside = max(c.beside, held(&b))
	}
	c.pools()
	return c
}

// pools finds the pools that the request could have been served from: those of its
// size, of which the stream with most live bytes is taken for the request's own. A
// stream whose pool has a block that is large enough did not ask: it would have got it.
func (c *ooms) pools() {
	kind, best := "large", int64(-1)
	if c.Asked <= smallRequest {
		kind = "small"
	}
	stream := int64(0)
	for _, p := range c.Pools {
		if !p.Private && p.Live > best && (p.Kind != kind || p.Largest < c.Asked) {
			best, stream = p.Live, p.Stream
		}
	}
	for _, p := range c.Pools {
		switch {
		case p.Kind != kind:
		case p.Stream == stream && !p.Private:
			c.own = p
		case p.Largest > c.elsewhere.Largest:
			c.elsewhere = p
		}
	}
}

// missing is by how much the request did not fit, were all idle bytes of use.
func (c *ooms) missing() *int64 {
	if !c.known {
		return nil
	}
	return ptr(max(c.Asked-c.room, 0))
}

// short is by how much the device has too little for the request.
func (c *ooms) short() int64 { return max(c.Asked-c.room, 0) }

// of is a category's bytes.
func (c *ooms) of(names ...string) (sum int64) {
	for _, name := range names {
		sum += c.Categories[name]
	}
	return sum
}

// share is a part of the live bytes.
func (c *ooms) share(bytes int64) float64 {
	if c.live <= 0 {
		return 0
	}
	return float64(bytes) / float64(c.live)
}

// within reports whether a frame of the stack is of a file and, where one is given,
// of a function. Files are told by the end of their path.
func (c *ooms) within(file string, functions ...string) bool {
	for i := range c.Stack {
		if c.isAt(i, file, functions...) {
			return true
		}
	}
	return false
}

// isAt is within, for one frame.
func (c *ooms) isAt(frame int, file string, functions ...string) bool {
	path, rest, _ := strings.Cut(strings.ReplaceAll(c.Stack[frame], `\`, "/"), ".py:")
	_, function, _ := strings.Cut(rest, " ")
	return strings.Contains(path+".py", file) && (len(functions) == 0 || slices.Contains(functions, function))
}
