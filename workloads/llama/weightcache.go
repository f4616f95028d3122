package llama

import (
	"container/list"
	"errors"

	"github.com/gpumem/gpumem/workloads/tensor"
)

// WeightCache keeps decoded matrices up to a number of bytes; the one that was
// used longest ago goes first. Its Get is a Model's Keep. It is for one goroutine;
// its owner releases it.
type WeightCache struct {
	most    int64
	entries map[string]*list.Element // of *cached
	order   *list.List               // the one used last first
	stats   WeightCacheStats
	// Copies makes Get give out and keep copies instead of references.
	Copies bool
}

// WeightCacheStats is what a cache has done and holds. Bytes are those of the
// values.
type WeightCacheStats struct {
	Hits, Misses uint64
	Evictions    uint64 // given up to make room
	TooLarge     uint64 // not kept: larger than the whole cache
	Entries      int
	Bytes, Peak  int64
}

// cached is a matrix that is kept.
type cached struct {
	name string
	t    *tensor.Tensor
}

// NewWeightCache keeps up to so many bytes.
func NewWeightCache(most int64) *WeightCache {
	return &WeightCache{most: most, entries: map[string]*list.Element{}, order: list.New()}
}

// Stats is the state of the cache.
func (c *WeightCache) Stats() WeightCacheStats { return c.stats }

// Get is the matrix of that name, decoded unless it is kept. The caller's scope
// releases it.
func (c *WeightCache) Get(name string, decode func() (*tensor.Tensor, error)) (*tensor.Tensor, error) {
	if e, ok := c.entries[name]; ok {
		c.stats.Hits++
		c.order.MoveToFront(e)
		return c.get(e.Value.(*cached).t)
	}
	c.stats.Misses++
	t, err := decode()
	if err != nil {
		return nil, err
	}
	size := bytesOf(t)
	if size > c.most {
		c.stats.TooLarge++
		return t, nil
	}
	for c.stats.Bytes+size > c.most {
		if err := c.evict(); err != nil {
			return nil, err
		}
	}
	kept, err := c.put(t)
	if err != nil {
		return nil, err
	}
	c.entries[name] = c.order.PushFront(&cached{name, kept.KeepIn("list llama.weight_cache")})
	c.stats.Entries++
	c.stats.Bytes += size
	c.stats.Peak = max(c.stats.Peak, c.stats.Bytes)
	return t, nil
}

// get gives a kept matrix out.
func (c *WeightCache) get(t *tensor.Tensor) (*tensor.Tensor, error) {
	if c.Copies {
		return t.Copied()
	}
	return t.Share()
}

// put makes a decoded matrix the cache's as well.
func (c *WeightCache) put(t *tensor.Tensor) (*tensor.Tensor, error) {
	if c.Copies {
		return t.Copied()
	}
	return t.Share()
}

// evict gives up the matrix that was used longest ago.
func (c *WeightCache) evict() error {
	last := c.order.Back()
	e := last.Value.(*cached)
	c.order.Remove(last)
	delete(c.entries, e.name)
	c.stats.Entries--
	c.stats.Evictions++
	c.stats.Bytes -= bytesOf(e.t)
	return e.t.Release()
}

// Release gives up all that is kept; these are no evictions.
func (c *WeightCache) Release() (failed error) {
	for e := c.order.Front(); e != nil; e = e.Next() {
		failed = errors.Join(failed, e.Value.(*cached).t.Release())
	}
	clear(c.entries)
	c.order.Init()
	c.stats.Entries, c.stats.Bytes = 0, 0
	return failed
}

func bytesOf(t *tensor.Tensor) int64 { return int64(t.Len() * t.ElementSize()) }
