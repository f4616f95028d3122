package llama

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gpumem/gpumem/metal/kernels"
	"github.com/gpumem/gpumem/workloads/gguf"
)

// Tiny is the shape of the twin that needs no file: enough tokens that a row of
// logits is larger than a page, and few enough of all else to be fast.
func Tiny() Config {
	return Config{
		Name: "tiny twin with random weights", Blocks: 2, Width: 64, Hidden: 128, Heads: 4, Shared: 2,
		Vocab: 6144, Context: 512, Epsilon: 1e-5, RopeBase: 10000, RopeFactor: 1,
	}
}

// WriteTwin writes a model of that shape with random weights made from a seed,
// its matrices in the given format, whose blocks must divide Width and Hidden.
// The same arguments give the same bytes. More metadata may be given, such as a
// tokenizer's.
func WriteTwin(w io.Writer, c Config, f kernels.Format, seed int64, more ...gguf.Entry) error {
	if per := f.BlockValues(); per == 0 || c.Width%per != 0 || c.Hidden%per != 0 {
		return fmt.Errorf("write a twin in %v: rows of %d and %d values are not whole blocks",
			f, c.Width, c.Hidden)
	}
	spec := gguf.Spec{Metadata: append(c.metadata(), more...)}
	add := func(name string, shape []int) {
		t := gguf.Tensor{Name: name, Type: gguf.Type(f)}
		if len(shape) == 1 {
			t.Type = gguf.F32
		}
		for _, d := range slices.Backward(shape) {
			t.Dims = append(t.Dims, uint64(d))
		}
		spec.Tensors = append(spec.Tensors, t)
	}
	add(nameEmbedding, []int{c.Vocab, c.Width})
	for b := range c.Blocks {
		shapes := c.blockTensors()
		for _, name := range []string{
			"attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_norm", "ffn_gate",
			"ffn_up", "ffn_down",
		} {
			add(blockName(b, name), shapes[name])
		}
	}
	add(nameLastNorm, []int{c.Width})
	add(nameOutput, []int{c.Vocab, c.Width})
	rng := rand.New(rand.NewPCG(uint64(seed), 0x7477696e))
	return spec.Write(w, func(t gguf.Tensor) ([]byte, error) {
		if len(t.Dims) == 1 {
			return gains(rng, int(t.Elements)), nil
		}
		// The scale by which a product keeps the size of what it reads.
		return randomBlocks(rng, f, int(t.Elements), 1/math.Sqrt(float64(t.Dims[0]))), nil
	})
}

// metadata describes the shape as a file does.
func (c Config) metadata() []gguf.Entry {
	return []gguf.Entry{
		{Key: "general.architecture", Value: "llama"},
		{Key: "general.name", Value: c.Name},
		{Key: "llama.block_count", Value: uint32(c.Blocks)},
		{Key: "llama.context_length", Value: uint32(c.Context)},
		{Key: "llama.embedding_length", Value: uint32(c.Width)},
		{Key: "llama.feed_forward_length", Value: uint32(c.Hidden)},
		{Key: "llama.attention.head_count", Value: uint32(c.Heads)},
		{Key: "llama.attention.head_count_kv", Value: uint32(c.Shared)},
		{Key: "llama.attention.layer_norm_rms_epsilon", Value: c.Epsilon},
		{Key: "llama.rope.freq_base", Value: float32(c.RopeBase)},
	}
}

// gains are factors around 1.
func gains(rng *rand.Rand, n int) (p []byte) {
	for range n {
		p = binary.LittleEndian.AppendUint32(p, math.Float32bits(float32(0.75+0.5*rng.Float64())))
	}
	return p
}

// randomBlocks are packed values around 0 of about the given deviation: random
// bits, with scales that make them so.
func randomBlocks(rng *rand.Rand, f kernels.Format, values int, deviation float64) []byte {
	size := f.BlockBytes()
	all := make([]byte, values/f.BlockValues()*size)
	for p := all; len(p) > 0; p = p[size:] {
		for i := range p[:size] {
			p[i] = byte(rng.Uint32())
		}
		setScales(f, p[:size], rng, deviation)
	}
	return all
}

// setScales overwrites the scales of a block, and the minima so that its values
// lie on both sides of 0. The numbers are the deviations of random blocks whose
// scale is 1, and what their minimum must be.
func setScales(f kernels.Format, p []byte, rng *rand.Rand, deviation float64) {
	half := func(at int, v float64) { binary.LittleEndian.PutUint16(p[at:], kernels.F32ToF16(float32(v))) }
	v := deviation * (0.8 + 0.4*rng.Float64())
	switch f {
	case kernels.Float:
		binary.LittleEndian.PutUint32(p, math.Float32bits(float32(deviation*rng.NormFloat64())))
	case kernels.HalfFloat:
		half(0, deviation*rng.NormFloat64())
	case kernels.BFloat:
		binary.LittleEndian.PutUint16(p, uint16(math.Float32bits(float32(deviation*rng.NormFloat64()))>>16))
	case kernels.Q4_0:
		half(0, v/4.6)
	case kernels.Q4_1:
		half(0, v/4.6)
		half(2, -7.5*v/4.6)
	case kernels.Q5_0:
		half(0, v/9.2)
	case kernels.Q5_1:
		half(0, v/9.2)
		half(2, -15.5*v/9.2)
	case kernels.Q8_0:
		half(0, v/74)
	case kernels.Q2_K:
		half(80, v/12)
		half(82, 1.5*v/12)
	case kernels.Q3_K:
		half(108, v/42)
	case kernels.Q4_K:
		half(0, v/225)
		half(2, 7.5*v/225)
	case kernels.Q5_K:
		half(0, v/450)
		half(2, 15.5*v/450)
	case kernels.Q6_K:
		half(208, v/1360)
	case kernels.IQ4_NL:
		half(0, v/70)
	case kernels.IQ4_XS:
		half(0, v/1300)
	}
}
