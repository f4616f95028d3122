package llama

import (
	"fmt"

	"github.com/gpumem/gpumem/workloads/tensor"
)

// Cache is the keys and values of the tokens that a session has seen, for all
// blocks in one tensor. Its owner releases it.
type Cache struct {
	m    *Model
	t    *tensor.Tensor
	room int
	used int
}

// NewCache makes an empty cache for so many positions.
func (m *Model) NewCache(positions int) (*Cache, error) {
	if most := m.turns.Shape()[0]; positions < 1 || positions > most {
		return nil, fmt.Errorf("cache of %d positions: the model was loaded for up to %d", positions, most)
	}
	t, err := m.rt.New("kv cache", m.Blocks, 2, positions, m.CacheWidth())
	if err != nil {
		return nil, err
	}
	return &Cache{m: m, t: t.Keep().As(tensor.KVCache), room: positions}, nil
}

// Used is the positions that are filled.
func (c *Cache) Used() int { return c.used }

// Room is the positions that the cache has in all.
func (c *Cache) Room() int { return c.room }

// Bytes is the size of the cache's memory.
func (c *Cache) Bytes() int64 { return 4 * int64(c.t.Len()) }

// Memory is unique for the cache's memory in its runtime.
func (c *Cache) Memory() uint64 { return c.t.Memory() }

// Release gives the memory up.
func (c *Cache) Release() error { return c.t.Release() }

// KeptIn names the container of the program's that keeps the cache (KeepIn of a
// tensor).
func (c *Cache) KeptIn(container string) { c.t.KeepIn(container) }

// Clone is a cache of its own with a copy of the contents.
func (c *Cache) Clone() (*Cache, error) {
	other, err := c.m.NewCache(c.room)
	if err != nil {
		return nil, err
	}
	other.used = c.used
	return other, c.m.rt.Copy(other.t, c.t)
}

// keys and values are where those of a block begin.
func (c *Cache) keys(block int) tensor.Cached   { return c.part(2 * block) }
func (c *Cache) values(block int) tensor.Cached { return c.part(2*block + 1) }

func (c *Cache) part(n int) tensor.Cached {
	return tensor.Cached{T: c.t, At: n * c.room * c.m.CacheWidth()}
}

// put appends rows to a part, behind the positions that are used.
func (c *Cache) put(to tensor.Cached, rows *tensor.Tensor) error {
	return c.m.rt.Put(to.T, to.At+c.used*c.m.CacheWidth(), rows)
}
