package tensor

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/kernels"
)

// The operations of a language model. They keep no graph: nothing is trained.

// part is storage from an offset in bytes on, as an argument of a kernel.
type part struct {
	store  storage
	offset int
}

// NewPacked makes a tensor of so many bytes, for values as a file packs them.
func (rt *Runtime) NewPacked(name string, bytes int) (*Tensor, error) {
	return spec{name, 1, []int{bytes}, true}.make(rt)
}

// Copied is another tensor with the same contents, in the caller's scope: one
// command. The tensor's bytes must be a multiple of 4.
func (t *Tensor) Copied() (*Tensor, error) {
	bytes := t.Len() * t.size
	if bytes%4 != 0 {
		return nil, fmt.Errorf("copy tensor %s of %d B, not a multiple of 4: %w", t.name, bytes, ErrShape)
	}
	c, err := spec{name: t.name + ", copied", size: t.size, shape: t.shape}.make(t.rt)
	if err != nil {
		return nil, err
	}
	err = t.rt.machine.encode("copy_inplace",
		call{"copy_inplace", over(bytes / 4), []any{t.store, c.store}})
	if err != nil {
		return nil, errors.Join(err, c.Release())
	}
	return c, nil
}

// SetBytes writes the memory of a tensor of any elements. Work that uses the
// tensor must have been synced.
func (t *Tensor) SetBytes(p []byte) error {
	if len(p) != t.Len()*t.size {
		return fmt.Errorf("set tensor %s of %d B with %d B: %w", t.name, t.Len()*t.size, len(p), ErrShape)
	}
	if err := t.store.write(p); err != nil {
		return fmt.Errorf("set tensor %s: %w", t.name, err)
	}
	return nil
}

// Unpack decodes packed values into dst, which may be longer.
func (rt *Runtime) Unpack(dst, packed *Tensor, f kernels.Format, values int) error {
	if packed.size != 1 || dst.size != 4 || values > dst.Len() || !f.Known() {
		return fmt.Errorf("unpack %d values of %v from %v to %v: %w", values, f, packed.shape,
			dst.shape, ErrShape)
	}
	kernel := "dequant_" + strings.ToLower(f.String()) + "_f32"
	return rt.machine.encode(kernel, call{kernel, over(values), []any{packed.store, dst.store}})
}

// Project is x wᵀ for each row of x; w has outs rows, as long as those of x,
// and may be longer. zeros is a vector of at least outs zeros.
func (rt *Runtime) Project(x, w, zeros *Tensor, outs int) (*Tensor, error) {
	if len(x.shape) != 2 || w.Len() < outs*x.shape[1] || zeros.Len() < outs {
		return nil, fmt.Errorf("project %v by %v to %d columns: %w", x.shape, w.shape, outs, ErrShape)
	}
	rows, ins := x.shape[0], x.shape[1]
	return rt.result("project", []int{rows, outs}, func(y storage) call {
		dims := []any{int32(rows), int32(outs), int32(ins), int32(kernels.ActNone)}
		return call{"linear_fwd", metal.Size{X: outs, Y: rows},
			append([]any{x.store, w.store, zeros.store, y}, dims...)}
	})
}

// RMSNorm divides each row by the root of its mean square and multiplies the
// columns with w.
func (rt *Runtime) RMSNorm(x, w *Tensor, eps float32) (*Tensor, error) {
	if len(x.shape) != 2 || w.Len() != x.shape[1] {
		return nil, fmt.Errorf("norm of %v with %v: %w", x.shape, w.shape, ErrShape)
	}
	rows, cols := int32(x.shape[0]), int32(x.shape[1])
	return rt.result("rms_norm", x.shape, func(y storage) call {
		return call{"rms_norm", over(int(rows)), []any{x.store, w.store, y, rows, cols, eps}}
	})
}

// Rope turns the pairs of each head of x in place. turns are cosine and sine of
// each position and pair; the first row of x is at position from.
func (rt *Runtime) Rope(x, turns *Tensor, heads, from int) error {
	if len(x.shape) != 2 || len(turns.shape) != 3 ||
		x.shape[1] != heads*turns.shape[1]*2 || from+x.shape[0] > turns.shape[0] {
		return fmt.Errorf("rope of %v in %d heads from %d by %v: %w", x.shape, heads, from,
			turns.shape, ErrShape)
	}
	rows, pairs := x.shape[0], turns.shape[1]
	args := []any{x.store, turns.store, int32(rows), int32(heads), int32(pairs), int32(from)}
	return rt.machine.encode("rope", call{"rope", metal.Size{X: pairs, Y: rows * heads}, args})
}

// Cached is where keys or values lie: in a tensor from one of its elements on,
// one row a position.
type Cached struct {
	T  *Tensor
	At int
}

// Heads is the shape of an attention: so many heads of the queries, so many of
// keys and values, each of Size values.
type Heads struct{ Queries, Shared, Size int }

// Attention lets each row of q look at the cached positions up to its own; the
// last row is at the last of them.
func (rt *Runtime) Attention(q *Tensor, keys, values Cached, h Heads, positions int) (*Tensor, error) {
	cached := positions * h.Shared * h.Size
	if len(q.shape) != 2 || q.shape[1] != h.Queries*h.Size || positions < q.shape[0] ||
		h.Shared <= 0 || h.Queries%h.Shared != 0 || keys.At+cached > keys.T.Len() ||
		values.At+cached > values.T.Len() {
		return nil, fmt.Errorf("attention of %v in heads %+v over %d positions: %w", q.shape,
			h, positions, ErrShape)
	}
	rows, each := q.shape[0], q.shape[0]*h.Queries
	dims := []any{int32(rows), int32(h.Queries), int32(h.Queries / h.Shared), int32(h.Size), int32(positions)}
	scale := float32(1 / math.Sqrt(float64(h.Size)))
	scores, err := rt.result("attention_scores", []int{each, positions}, func(y storage) call {
		args := append([]any{q.store, part{keys.T.store, 4 * keys.At}, y}, dims...)
		return call{"attention_scores", metal.Size{X: positions, Y: each}, append(args, scale)}
	})
	if err != nil {
		return nil, err
	}
	weights, err := rt.Softmax(scores)
	if err != nil {
		return nil, err
	}
	return rt.result("attention_mix", q.shape, func(y storage) call {
		args := append([]any{weights.store, part{values.T.store, 4 * values.At}, y}, dims...)
		return call{"attention_mix", metal.Size{X: h.Size, Y: each}, args}
	})
}

// SiLUMul is a / (1 + exp(-a)) b, of equal shapes.
func (rt *Runtime) SiLUMul(a, b *Tensor) (*Tensor, error) { return pairwise("silu_mul").of(rt, a, b) }

// Put overwrites dst from element at on with all of src.
func (rt *Runtime) Put(dst *Tensor, at int, src *Tensor) error {
	if at < 0 || at+src.Len() > dst.Len() || dst.size != 4 || src.size != 4 {
		return fmt.Errorf("put %v at %d of %v: %w", src.shape, at, dst.shape, ErrShape)
	}
	return rt.machine.encode("put", call{"copy_inplace", over(src.Len()),
		[]any{src.store, part{dst.store, 4 * at}}})
}

// LastRow is a copy of the last row of a matrix.
func (rt *Runtime) LastRow(x *Tensor) (*Tensor, error) {
	if len(x.shape) != 2 {
		return nil, fmt.Errorf("last row of %v: %w", x.shape, ErrShape)
	}
	rows, cols := x.shape[0], x.shape[1]
	return rt.result("last row", []int{1, cols}, func(y storage) call {
		return call{"copy_inplace", over(cols), []any{part{x.store, 4 * (rows - 1) * cols}, y}}
	})
}
