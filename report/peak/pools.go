package peak

import (
	"fmt"
	"slices"
)

// Policies are those that gpumem tune compares: PyTorch's as it is by default, its
// settings, and pools that keep so many buffers of a size class.
func Policies() []Policy {
	list := []Policy{
		{"PyTorch, default", "", func() Pool { return newCaching(0, false) }},
		{"PyTorch, expandable segments", "expandable_segments:True",
			func() Pool { return newCaching(0, true) }},
	}
	for _, mib := range [...]int64{64, 128, 256, 512} {
		list = append(list, Policy{fmt.Sprintf("PyTorch, split up to %d MiB", mib),
			fmt.Sprintf("max_split_size_mb:%d", mib),
			func() Pool { return newCaching(mib<<20, false) }})
	}
	for _, most := range [...]int{10, 20, 30, 50} {
		list = append(list, CapPolicy(most))
	}
	return list
}

// CapPolicy keeps at most so many idle buffers of a size class, as gpumem's pool does
// with the policy tensorlogic: classes of 1,024 × 2^k elements of 2 bytes for k up to
// 13, above that the exact size.
func CapPolicy(most int) Policy {
	return Policy{fmt.Sprintf("at most %d buffers a size class", most), "", func() Pool {
		return &capped{most: most, idle: map[int64]int64{}, live: map[int64]int64{}}
	}}
}

// capped is a pool with a limit of idle buffers a class.
type capped struct {
	most  int
	next  int64
	idle  map[int64]int64 // buffers by class
	live  map[int64]int64 // class by handle
	bytes int64           // of all
	kept  int64           // of idle ones
}

// Size classes of CapPolicy, in bytes.
const (
	leastClass = 1024 * 2
	mostClass  = leastClass << 13
)

func classOf(bytes int64) int64 {
	if bytes > mostClass {
		return bytes
	}
	class := int64(leastClass)
	for class < bytes {
		class *= 2
	}
	return class
}

func (p *capped) Get(bytes int64) (int64, bool) {
	class := classOf(bytes)
	p.next++
	p.live[p.next] = class
	if p.idle[class] > 0 {
		p.idle[class]--
		p.kept -= class
		return p.next, true
	}
	p.bytes += class
	return p.next, false
}

func (p *capped) Put(handle int64) {
	class := p.live[handle]
	delete(p.live, handle)
	if p.idle[class] < int64(p.most) {
		p.idle[class]++
		p.kept += class
		return
	}
	p.bytes -= class
}

func (p *capped) Held() int64 { return p.bytes }

func (p *capped) Idle() (bytes, count int64) {
	for _, n := range p.idle {
		count += n
	}
	return p.kept, count
}

// caching is PyTorch's caching allocator, simulated: best fit among free blocks,
// which are split and put together again within their segment. Nothing is given
// back to the driver, as long as nothing runs out. With expandable segments a pool
// has one segment that grows by pages.
type caching struct {
	maxSplit   int64 // 0 is none
	expandable bool
	held       int64
	next       int64 // segment's address
	free       [2][]span
	live       map[int64]span // by address
	end        [2]int64       // of the expandable segments, 0 without one
}

// span is a stretch of addresses. seg is its segment's first address.
type span struct {
	at, size, seg int64
	kind          int
}

// Sizes of PyTorch's caching allocator, in bytes.
const (
	smallSegment   = 2 << 20
	largeSegment   = 20 << 20
	leastOwn       = 10 << 20 // from which a request gets a segment of its own size
	segmentRounded = 2 << 20
)

func newCaching(maxSplit int64, expandable bool) *caching {
	return &caching{maxSplit: maxSplit, expandable: expandable, live: map[int64]span{}}
}

// kindOf is the pool of a request: 0 for small blocks, 1 for large ones.
func kindOf(bytes int64) int {
	if bytes <= smallRequest {
		return 0
	}
	return 1
}

func (c *caching) Get(bytes int64) (int64, bool) {
	bytes = rounded(bytes)
	kind := kindOf(bytes)
	at, hit := c.find(kind, bytes), true
	if at < 0 {
		at, hit = c.grow(kind, bytes), false
	}
	b := c.free[kind][at]
	c.free[kind] = slices.Delete(c.free[kind], at, at+1)
	rest := b.size - bytes
	split := rest > leastRest && (c.maxSplit == 0 || bytes < c.maxSplit)
	if kind == 0 || c.expandable {
		split = rest > 0
	}
	if split {
		c.add(kind, span{b.at + bytes, rest, b.seg, kind})
		b.size = bytes
	}
	c.live[b.at] = b
	return b.at, hit
}

// find is the position of the smallest free block that serves a request, -1 without
// one.
func (c *caching) find(kind int, bytes int64) int {
	best := -1
	for i, b := range c.free[kind] {
		if b.size < bytes || best >= 0 && b.size >= c.free[kind][best].size {
			continue
		}
		if c.maxSplit > 0 && kind == 1 && (bytes < c.maxSplit && b.size >= c.maxSplit ||
			bytes >= c.maxSplit && b.size >= bytes+largeSegment) {
			continue
		}
		best = i
	}
	return best
}

// grow takes memory of the driver for a request and returns the position of the free
// block that serves it.
func (c *caching) grow(kind int, bytes int64) int {
	if c.expandable {
		return c.expand(kind, bytes)
	}
	size := int64(smallSegment)
	switch {
	case kind == 1 && bytes < leastOwn:
		size = largeSegment
	case kind == 1:
		size = (bytes + segmentRounded - 1) / segmentRounded * segmentRounded
	}
	c.held += size
	at := c.next
	c.next += size + smallSegment // a gap: segments are never put together
	return c.add(kind, span{at, size, at, kind})
}

// expand maps pages behind the end of the pool's segment, of which the last block
// may be free already.
func (c *caching) expand(kind int, bytes int64) int {
	page := int64(smallSegment)
	if kind == 1 {
		page = largeSegment
	}
	const room = 1 << 50 // of addresses, for each pool
	base := int64(kind) * room
	end := base + c.end[kind]
	have, last := int64(0), len(c.free[kind])-1
	if last >= 0 {
		if b := c.free[kind][last]; b.at+b.size == end {
			have = b.size
		}
	}
	size := (bytes - have + page - 1) / page * page
	c.held += size
	c.end[kind] += size
	return c.add(kind, span{end, size, base, kind})
}

// add puts a free block among the others, in order of addresses, together with its
// free neighbours, and returns its position.
func (c *caching) add(kind int, b span) int {
	free := c.free[kind]
	at, _ := slices.BinarySearchFunc(free, b.at, func(s span, at int64) int {
		return int(min(max(s.at-at, -1), 1))
	})
	if at < len(free) && free[at].seg == b.seg && b.at+b.size == free[at].at {
		b.size += free[at].size
		free = slices.Delete(free, at, at+1)
	}
	if at > 0 && free[at-1].seg == b.seg && free[at-1].at+free[at-1].size == b.at {
		at--
		b.at, b.size = free[at].at, b.size+free[at].size
		free = slices.Delete(free, at, at+1)
	}
	c.free[kind] = slices.Insert(free, at, b)
	return at
}

func (c *caching) Put(handle int64) {
	b, ok := c.live[handle]
	if !ok {
		return
	}
	delete(c.live, handle)
	c.add(b.kind, b)
}

func (c *caching) Held() int64 { return c.held }

func (c *caching) Idle() (bytes, count int64) {
	for _, free := range c.free {
		for _, b := range free {
			bytes, count = bytes+b.size, count+1
		}
	}
	return bytes, count
}
