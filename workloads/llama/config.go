package llama

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/metal/kernels"
	"github.com/gpumem/gpumem/workloads/gguf"
)

// ErrModel is matched by every error about a file that is valid but holds no
// model that runs here.
var ErrModel = errors.New("cannot run this model")

// Config is the shape of a model.
type Config struct {
	Name    string
	Blocks  int // transformer blocks
	Width   int // values of a token in the residual stream
	Hidden  int // values of the feed-forward network
	Heads   int // of queries
	Shared  int // heads of keys and values, each for Heads / Shared of queries
	Vocab   int // tokens
	Context int // positions that the model was trained for
	Epsilon float32
	// RopeBase is the base of the rotary embedding, RopeFactor what positions
	// are divided by.
	RopeBase, RopeFactor float64
}

// HeadSize is the values of a head.
func (c Config) HeadSize() int { return c.Width / c.Heads }

// CacheWidth is the values of one position's keys in one block.
func (c Config) CacheWidth() int { return c.Shared * c.HeadSize() }

// The bounds of what a file may claim. The largest models of the family have 126
// blocks of 16,384 values and some 260,000 tokens.
const (
	maxBlocks = 1 << 10
	maxWidth  = 1 << 18
	maxVocab  = 1 << 22
)

// metadata reads keys of an architecture and keeps the first thing wrong.
type metadata struct {
	file *gguf.File
	err  error
}

func (m *metadata) refuse(format string, args ...any) {
	if m.err == nil {
		m.err = fmt.Errorf("%w: %s", ErrModel, fmt.Sprintf(format, args...))
	}
}

// number is a whole number from low to high; absent, it is without, or an error
// when without is negative.
func (m *metadata) number(key string, low, high, without int) int {
	v, ok := m.file.Value(key)
	if !ok && without >= 0 {
		return without
	}
	n := int64(-1)
	switch v := v.(type) {
	case uint32:
		n = int64(v)
	case int32:
		n = int64(v)
	case uint64:
		n = int64(min(v, math.MaxInt64))
	case uint16:
		n = int64(v)
	}
	if n < int64(low) || n > int64(high) {
		if !ok {
			m.refuse("the file has no %s", key)
		}
		m.refuse("%s is %v, not a number from %d to %d", key, v, low, high)
		return low
	}
	return int(n)
}

// real is a positive number.
func (m *metadata) real(key string, without float64) float64 {
	v, ok := m.file.Value(key)
	if !ok {
		return without
	}
	f, isFloat := v.(float32)
	if !isFloat || !(f > 0) || math.IsInf(float64(f), 0) {
		m.refuse("%s is %v, not a positive number", key, v)
		return without
	}
	return float64(f)
}

func (m *metadata) text(key string) string {
	v, _ := m.file.Value(key)
	s, _ := v.(string)
	return s
}

// ConfigOf reads the shape of a file's model and refuses what does not run here,
// by its first reason; nothing of the weights is read. Errors match ErrModel.
func ConfigOf(f *gguf.File) (Config, error) {
	m := &metadata{file: f}
	if arch := m.text("general.architecture"); arch != "llama" {
		m.refuse("its architecture is %q; llama works, that of Llama 1 to 3, Mistral, TinyLlama and SmolLM",
			arch)
		return Config{}, m.err
	}
	c := Config{
		Name:    m.text("general.name"),
		Blocks:  m.number("llama.block_count", 1, maxBlocks, -1),
		Width:   m.number("llama.embedding_length", 2, maxWidth, -1),
		Hidden:  m.number("llama.feed_forward_length", 1, maxWidth, -1),
		Heads:   m.number("llama.attention.head_count", 1, maxWidth, -1),
		Context: m.number("llama.context_length", 1, math.MaxInt32, -1),
		Epsilon: float32(m.real("llama.attention.layer_norm_rms_epsilon", 1e-5)),

		RopeBase: m.real("llama.rope.freq_base", 10000), RopeFactor: 1,
	}
	c.Shared = m.number("llama.attention.head_count_kv", 1, maxWidth, c.Heads)
	if c.Width%c.Heads != 0 || c.Heads%c.Shared != 0 || c.HeadSize()%2 != 0 {
		m.refuse("%d values do not divide into %d heads that share %d", c.Width, c.Heads, c.Shared)
		return c, m.err
	}
	m.rotary(&c)
	m.extras(c)
	if m.err != nil {
		return c, m.err
	}
	return c, c.checkTensors(f)
}

// rotary reads how positions are scaled.
func (m *metadata) rotary(c *Config) {
	if n := m.number("llama.rope.dimension_count", 1, maxWidth, c.HeadSize()); n != c.HeadSize() {
		m.refuse("it turns %d of the %d values of a head; all must be turned", n, c.HeadSize())
	}
	switch kind := m.text("llama.rope.scaling.type"); kind {
	case "", "none":
	case "linear":
		c.RopeFactor = m.real("llama.rope.scaling.factor", 1)
	default:
		m.refuse("it scales positions by %q; none, linear and Llama 3's factors work", kind)
	}
}

// extras refuses what changes the computation and is not computed.
func (m *metadata) extras(c Config) {
	if n := m.number("llama.expert_count", 0, math.MaxInt32, 0); n > 0 {
		m.refuse("it is a mixture of %d experts; dense models work", n)
	}
	for _, key := range []string{"llama.attention.key_length", "llama.attention.value_length"} {
		if n := m.number(key, 1, maxWidth, c.HeadSize()); n != c.HeadSize() {
			m.refuse("%s is %d, where a head has %d values; they must be the same", key, n, c.HeadSize())
		}
	}
}

// Names of the tensors beside those of the blocks.
const (
	nameEmbedding = "token_embd.weight"
	nameOutput    = "output.weight"
	nameLastNorm  = "output_norm.weight"
	nameFactors   = "rope_freqs.weight"
)

// blockTensors are a block's tensors, without blk.N. and .weight, and their
// shapes, rows first.
func (c Config) blockTensors() map[string][]int {
	return map[string][]int{
		"attn_norm": {c.Width}, "ffn_norm": {c.Width},
		"attn_q": {c.Width, c.Width}, "attn_output": {c.Width, c.Width},
		"attn_k": {c.CacheWidth(), c.Width}, "attn_v": {c.CacheWidth(), c.Width},
		"ffn_gate": {c.Hidden, c.Width}, "ffn_up": {c.Hidden, c.Width}, "ffn_down": {c.Width, c.Hidden},
	}
}

// checkTensors wants each tensor that the model needs, of its shape and of a
// type that can be decoded, and none that it would not use. It sets Vocab.
func (c *Config) checkTensors(f *gguf.File) error {
	want := map[string][]int{nameLastNorm: {c.Width}}
	for b := range c.Blocks {
		for name, shape := range c.blockTensors() {
			want[blockName(b, name)] = shape
		}
	}
	types := map[string]bool{}
	for _, t := range f.Tensors {
		if !kernels.Format(t.Type).Known() {
			types[t.Type.String()] = true
		}
		if t.Name == nameEmbedding && len(t.Dims) == 2 && t.Dims[1] <= maxVocab {
			c.Vocab = int(t.Dims[1])
		}
	}
	if len(types) > 0 {
		return refusedTypes(types)
	}
	want[nameEmbedding] = []int{c.Vocab, c.Width}
	optional := map[string][]int{nameOutput: {c.Vocab, c.Width}, nameFactors: {c.HeadSize() / 2}}
	for _, t := range f.Tensors {
		shape, needed := want[t.Name]
		if !needed {
			if shape, needed = optional[t.Name]; !needed {
				return fmt.Errorf("%w: tensor %s is not one of a plain Llama model", ErrModel, t.Name)
			}
		}
		if !slices.Equal(t.Shape(), shape) {
			return fmt.Errorf("%w: tensor %s has the shape %v, not %v", ErrModel, t.Name, t.Shape(), shape)
		}
		delete(want, t.Name)
	}
	for name := range want {
		return fmt.Errorf("%w: %d tensors are missing, one of them %s", ErrModel, len(want), name)
	}
	return nil
}

// refusedTypes says which types do not work, and which do.
func refusedTypes(types map[string]bool) error {
	var names, known []string
	for name := range types {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, f := range kernels.Formats() {
		known = append(known, f.String())
	}
	return fmt.Errorf("%w: tensors of type %s cannot be decoded; these work: %s",
		ErrModel, strings.Join(names, ", "), strings.Join(known, ", "))
}

func blockName(block int, name string) string { return fmt.Sprintf("blk.%d.%s.weight", block, name) }
