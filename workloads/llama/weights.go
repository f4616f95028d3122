package llama

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/gpumem/gpumem/metal/kernels"
	"github.com/gpumem/gpumem/workloads/gguf"
	"github.com/gpumem/gpumem/workloads/tensor"
)

// matrix is a weight on the device, packed as the file has it.
type matrix struct {
	name       string
	rows, cols int
	format     kernels.Format
	t          *tensor.Tensor // of float32 where the format is Float, else of bytes
}

// block is the weights of one transformer block.
type block struct {
	attentionNorm, feedNorm *tensor.Tensor
	q, k, v, output         *matrix
	gate, up, down          *matrix
}

// Model is a model with its weights on a device.
type Model struct {
	Config
	rt     *tensor.Runtime
	blocks []block
	norm   *tensor.Tensor
	output *matrix
	turns  *tensor.Tensor // cosine and sine by position and pair
	zeros  *tensor.Tensor // the bias that products have to have
	// scratch takes the decoded weights of one product after the other: the
	// device runs them in order.
	scratch *tensor.Tensor
	embed   gguf.Tensor
	file    *gguf.File // for the rows of the embedding
	all     []*tensor.Tensor
	bytes   int64
	// Keep, when set, is asked for the decoded matrix of that name before
	// scratch is used, which it may have kept from another product.
	Keep func(name string, decode func() (*tensor.Tensor, error)) (*tensor.Tensor, error)
}

// Load puts the model's weights on the runtime's device, for contexts of up to
// so many positions. progress, when set, hears how many of the bytes are there.
// The file stays open as long as the model: embeddings are read from it.
func Load(rt *tensor.Runtime, f *gguf.File, context int, progress func(done, all int64)) (*Model, error) {
	c, err := ConfigOf(f)
	if err != nil {
		return nil, err
	}
	m := &Model{Config: c, rt: rt, file: f}
	if err := m.load(context, progress); err != nil {
		return nil, errors.Join(err, m.Release())
	}
	return m, nil
}

func (m *Model) load(context int, progress func(done, all int64)) error {
	l := loader{m: m, tensors: map[string]gguf.Tensor{}, progress: progress}
	for _, t := range m.file.Tensors {
		l.tensors[t.Name] = t
		if t.Name != nameEmbedding {
			l.all += t.Bytes
		}
	}
	m.embed = l.tensors[nameEmbedding]
	output := nameOutput
	if _, own := l.tensors[nameOutput]; !own {
		output = nameEmbedding // shared with the embedding
		l.all += m.embed.Bytes
	}
	for b := range m.Blocks {
		at := func(name string) string { return blockName(b, name) }
		m.blocks = append(m.blocks, block{
			attentionNorm: l.vector(at("attn_norm")), feedNorm: l.vector(at("ffn_norm")),
			q: l.matrix(at("attn_q")), k: l.matrix(at("attn_k")), v: l.matrix(at("attn_v")),
			output: l.matrix(at("attn_output")),
			gate:   l.matrix(at("ffn_gate")), up: l.matrix(at("ffn_up")), down: l.matrix(at("ffn_down")),
		})
	}
	m.norm, m.output = l.vector(nameLastNorm), l.matrix(output)
	m.turns = l.values("rope", m.rotations(context, l.factors()), context, m.HeadSize()/2, 2)
	most := max(m.Width, m.Hidden, m.Vocab)
	m.zeros = l.values("zeros", make([]float32, most), most)
	if l.largest > 0 {
		if m.scratch = l.kept(m.rt.New("decoded weights", l.largest)); m.scratch != nil {
			m.scratch.As(tensor.Buffers)
		}
	}
	m.bytes = l.done
	return l.err
}

// WeightBytes is the size of the packed weights on the device.
func (m *Model) WeightBytes() int64 { return m.bytes }

// Weights are the tensors of the file that are on the device: those of the blocks
// in order, then the rest. They are the model's.
func (m *Model) Weights() (list []*tensor.Tensor) {
	for _, t := range m.all {
		if strings.HasSuffix(t.Name(), ".weight") {
			list = append(list, t)
		}
	}
	return list
}

// Release gives the weights up.
func (m *Model) Release() (failed error) {
	for _, t := range m.all {
		failed = errors.Join(failed, t.Release())
	}
	m.all = nil
	return failed
}

// rotations are the cosine and sine of each position and pair of values.
func (m *Model) rotations(context int, factors []float32) []float32 {
	pairs := m.HeadSize() / 2
	turns := make([]float32, 0, 2*context*pairs)
	for position := range context {
		for i := range pairs {
			angle := float64(position) / m.RopeFactor * math.Pow(m.RopeBase,
				-2*float64(i)/float64(m.HeadSize()))
			if factors != nil {
				angle /= float64(factors[i])
			}
			turns = append(turns, float32(math.Cos(angle)), float32(math.Sin(angle)))
		}
	}
	return turns
}

// loader puts tensors on the device and keeps the first error.
type loader struct {
	m         *Model
	tensors   map[string]gguf.Tensor
	progress  func(done, all int64)
	done, all int64
	largest   int // values of a packed matrix
	err       error
}

// kept makes a new tensor the model's.
func (l *loader) kept(t *tensor.Tensor, err error) *tensor.Tensor {
	if l.err = errors.Join(l.err, err); err != nil {
		return nil
	}
	l.m.all = append(l.m.all, t.Keep().As(tensor.Parameters))
	return t
}

func (l *loader) values(name string, values []float32, shape ...int) *tensor.Tensor {
	if l.err != nil {
		return nil
	}
	return l.kept(l.m.rt.From(name, values, shape...))
}

// read fills p with a tensor's bytes.
func (l *loader) read(t gguf.Tensor, p []byte) {
	if l.err != nil {
		return
	}
	if _, err := io.ReadFull(l.m.file.Data(t), p); err != nil {
		l.err = fmt.Errorf("load %s: %w", t.Name, err)
	}
	if l.done += t.Bytes; l.progress != nil {
		l.progress(l.done, l.all)
	}
}

// decoded reads a tensor's values.
func (l *loader) decoded(name string) (gguf.Tensor, []float32) {
	t := l.tensors[name]
	p, values := make([]byte, t.Bytes), make([]float32, t.Elements)
	if l.read(t, p); l.err == nil {
		l.err = kernels.DequantF32(values, p, kernels.Format(t.Type))
	}
	return t, values
}

// vector is a tensor of few values, which is decoded at once.
func (l *loader) vector(name string) *tensor.Tensor {
	t, values := l.decoded(name)
	return l.values(name, values, t.Shape()...)
}

func (l *loader) factors() []float32 {
	if _, ok := l.tensors[nameFactors]; !ok {
		return nil
	}
	_, values := l.decoded(nameFactors)
	return values
}

// matrix is a tensor of two dimensions, which stays packed.
func (l *loader) matrix(name string) *matrix {
	if l.err != nil {
		return nil
	}
	t := l.tensors[name]
	shape := t.Shape()
	w := &matrix{name: name, rows: shape[0], cols: shape[1], format: kernels.Format(t.Type)}
	if w.format == kernels.Float {
		w.t = l.kept(l.m.rt.New(name, shape...))
	} else {
		l.largest = max(l.largest, w.rows*w.cols)
		w.t = l.kept(l.m.rt.NewPacked(name, int(t.Bytes)))
	}
	if l.err == nil {
		l.fill(w.t, t)
	}
	return w
}

// fill reads straight into the device's memory, or by way of the host's where
// the host cannot address it.
func (l *loader) fill(w *tensor.Tensor, t gguf.Tensor) {
	if memory := w.Contents(); memory != nil {
		l.read(t, memory)
		return
	}
	p := make([]byte, t.Bytes)
	if l.read(t, p); l.err == nil {
		l.err = w.SetBytes(p)
	}
}
