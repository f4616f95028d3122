package llama

import (
	"errors"
	"fmt"
	"io"

	"github.com/gpumem/gpumem/metal/kernels"
	"github.com/gpumem/gpumem/workloads/tensor"
)

// Forward reads tokens behind those that the cache has and is the logits of the
// token that comes next: a row of Vocab values, in the caller's scope. The
// device may still be at work.
func (m *Model) Forward(tokens []int, c *Cache) (logits *tensor.Tensor, err error) {
	if len(tokens) == 0 || c.used+len(tokens) > c.room {
		return nil, fmt.Errorf("%d tokens behind %d: the cache has room for %d", len(tokens), c.used, c.room)
	}
	x, err := m.embedding(tokens)
	if err != nil {
		return nil, err
	}
	for n := range m.blocks {
		y, err := m.scoped(func() (*tensor.Tensor, error) { return m.block(n, x, c) })
		if err = errors.Join(err, x.Release()); err != nil {
			return nil, fmt.Errorf("block %d: %w", n, err)
		}
		x = y
	}
	c.used += len(tokens)
	logits, err = m.scoped(func() (*tensor.Tensor, error) {
		last, err := m.rt.LastRow(x)
		if err != nil {
			return nil, err
		}
		if last, err = m.rt.RMSNorm(last, m.norm, m.Epsilon); err != nil {
			return nil, err
		}
		return m.project(last, m.output)
	})
	return logits, errors.Join(err, x.Release())
}

// scoped releases what f made but its result, which the caller releases.
func (m *Model) scoped(f func() (*tensor.Tensor, error)) (y *tensor.Tensor, err error) {
	err = m.rt.Scope(func() error {
		if y, err = f(); err == nil {
			y.Keep()
		}
		return err
	})
	return y, err
}

// embedding is a row for each token. The rows are read from the file: the
// device needs few of them.
func (m *Model) embedding(tokens []int) (*tensor.Tensor, error) {
	format := kernels.Format(m.embed.Type)
	packed := make([]byte, m.Width/format.BlockValues()*format.BlockBytes())
	values, data := make([]float32, len(tokens)*m.Width), m.file.Data(m.embed)
	for i, token := range tokens {
		if token < 0 || token >= m.Vocab {
			return nil, fmt.Errorf("token %d: the model has tokens 0 to %d", token, m.Vocab-1)
		}
		_, err := io.ReadFull(io.NewSectionReader(data, int64(token*len(packed)), int64(len(packed))), packed)
		if err == nil {
			err = kernels.DequantF32(values[i*m.Width:(i+1)*m.Width], packed, format)
		}
		if err != nil {
			return nil, fmt.Errorf("embedding of token %d: %w", token, err)
		}
	}
	x, err := m.rt.From("embedding", values, len(tokens), m.Width)
	if err != nil {
		return nil, err
	}
	return x.Keep(), nil
}

// block is one transformer block: attention and feed-forward network, each
// added to what it reads.
func (m *Model) block(n int, x *tensor.Tensor, c *Cache) (*tensor.Tensor, error) {
	attended, err := m.attention(n, x, c)
	if err != nil {
		return nil, err
	}
	if x, err = m.rt.Add(x, attended); err != nil {
		return nil, err
	}
	fed, err := m.feed(&m.blocks[n], x)
	if err != nil {
		return nil, err
	}
	return m.rt.Add(x, fed)
}

func (m *Model) attention(n int, x *tensor.Tensor, c *Cache) (*tensor.Tensor, error) {
	b := &m.blocks[n]
	normed, err := m.rt.RMSNorm(x, b.attentionNorm, m.Epsilon)
	if err != nil {
		return nil, err
	}
	var parts [3]*tensor.Tensor
	for i, w := range []*matrix{b.q, b.k, b.v} {
		if parts[i], err = m.project(normed, w); err != nil {
			return nil, err
		}
	}
	q, k, v := parts[0], parts[1], parts[2]
	err = errors.Join(m.rt.Rope(q, m.turns, m.Heads, c.used), m.rt.Rope(k, m.turns, m.Shared, c.used),
		c.put(c.keys(n), k), c.put(c.values(n), v))
	if err != nil {
		return nil, err
	}
	heads := tensor.Heads{Queries: m.Heads, Shared: m.Shared, Size: m.HeadSize()}
	mixed, err := m.rt.Attention(q, c.keys(n), c.values(n), heads, c.used+x.Shape()[0])
	if err != nil {
		return nil, err
	}
	return m.project(mixed, b.output)
}

func (m *Model) feed(b *block, x *tensor.Tensor) (*tensor.Tensor, error) {
	normed, err := m.rt.RMSNorm(x, b.feedNorm, m.Epsilon)
	if err != nil {
		return nil, err
	}
	gate, err := m.project(normed, b.gate)
	if err != nil {
		return nil, err
	}
	up, err := m.project(normed, b.up)
	if err != nil {
		return nil, err
	}
	gated, err := m.rt.SiLUMul(gate, up)
	if err != nil {
		return nil, err
	}
	return m.project(gated, b.down)
}

// project multiplies rows with a matrix, which is decoded first where it is
// packed.
func (m *Model) project(x *tensor.Tensor, w *matrix) (*tensor.Tensor, error) {
	values, err := m.decoded(w)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", w.name, err)
	}
	return m.rt.Project(x, values, m.zeros, w.rows)
}

func (m *Model) decoded(w *matrix) (*tensor.Tensor, error) {
	switch {
	case w.format == kernels.Float:
		return w.t, nil
	case m.Keep != nil:
		return m.Keep(w.name, func() (*tensor.Tensor, error) {
			t, err := m.rt.New(w.name+", decoded", w.rows, w.cols)
			if err != nil {
				return nil, err
			}
			return t, m.rt.Unpack(t, w.t, w.format, w.rows*w.cols)
		})
	}
	return m.scratch, m.rt.Unpack(m.scratch, w.t, w.format, w.rows*w.cols)
}
