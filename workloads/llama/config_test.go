package llama_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/metal/kernels"
	"github.com/gpumem/gpumem/workloads/gguf"
	"github.com/gpumem/gpumem/workloads/llama"
)

// spec is the header of a twin, to be changed.
func spec(t *testing.T) gguf.Spec {
	t.Helper()
	var b bytes.Buffer
	if err := llama.WriteTwin(&b, llama.Tiny(), kernels.Q8_0, 1); err != nil {
		t.Fatal(err)
	}
	file, err := gguf.Read(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return gguf.Spec{Metadata: file.Metadata, Tensors: file.Tensors}
}

func refusal(t *testing.T, s gguf.Spec) error {
	t.Helper()
	var b bytes.Buffer
	err := s.Write(&b, func(t gguf.Tensor) ([]byte, error) { return make([]byte, t.Bytes), nil })
	if err != nil {
		t.Fatal(err)
	}
	file, err := gguf.Read(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	_, err = llama.ConfigOf(file)
	return err
}

func TestWhatDoesNotRunIsRefusedInOneLineThatSaysWhy(t *testing.T) {
	t.Parallel()
	set := func(key string, value any) func(*gguf.Spec) {
		return func(s *gguf.Spec) {
			s.Metadata = slices.DeleteFunc(s.Metadata, func(e gguf.Entry) bool { return e.Key == key })
			if value != nil {
				s.Metadata = append(s.Metadata, gguf.Entry{Key: key, Value: value})
			}
		}
	}
	for _, c := range []struct {
		change func(*gguf.Spec)
		says   string
	}{
		{set("general.architecture", "mamba"), `architecture is "mamba"; llama works`},
		{set("llama.block_count", nil), "the file has no llama.block_count"},
		{set("llama.block_count", uint32(1<<30)), "llama.block_count is 1073741824, not a number from 1 to 1024"},
		{set("llama.attention.head_count", uint32(3)), "64 values do not divide into 3 heads"},
		{set("llama.attention.head_count_kv", uint32(0)), "head_count_kv is 0"},
		{set("llama.rope.freq_base", float32(-1)), "freq_base is -1, not a positive number"},
		{set("llama.rope.scaling.type", "yarn"), `scales positions by "yarn"`},
		{set("llama.rope.dimension_count", uint32(8)), "turns 8 of the 16 values"},
		{set("llama.expert_count", uint32(8)), "mixture of 8 experts"},
		{set("llama.attention.key_length", uint32(32)), "key_length is 32, where a head has 16"},
		{func(s *gguf.Spec) { s.Tensors = s.Tensors[1:] }, "token_embd.weight has"},
		{
			func(s *gguf.Spec) { s.Tensors = s.Tensors[:len(s.Tensors)-2] },
			"1 tensors are missing, one of them output_norm.weight",
		},
		{
			func(s *gguf.Spec) { s.Tensors[1].Dims = []uint64{32} },
			"blk.0.attn_norm.weight has the shape [32], not [64]",
		},
		{
			func(s *gguf.Spec) { s.Tensors[1].Name = "blk.0.attn_q.bias" },
			"tensor blk.0.attn_q.bias is not one of a plain Llama model",
		},
		{
			func(s *gguf.Spec) { s.Tensors[2].Type, s.Tensors[3].Type = 9, 39 },
			"tensors of type MXFP4, Q8_1 cannot be decoded; these work: F32, F16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, " +
				"Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS, BF16",
		},
	} {
		s := spec(t)
		c.change(&s)
		err := refusal(t, s)
		if c.says == "token_embd.weight has" { // without it nobody knows the number of tokens
			c.says = "output.weight has the shape"
		}
		if !errors.Is(err, llama.ErrModel) ||
			!strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want one that says %q", err, c.says)
		}
	}
	if err := refusal(t, spec(t)); err != nil {
		t.Errorf("the twin itself: %v", err)
	}
}

func TestATokenizerThatDoesNotWorkIsRefused(t *testing.T) {
	t.Parallel()
	d := allTrained(t)["gpt-2"]
	for _, c := range []struct {
		entries []gguf.Entry
		says    string
	}{
		{
			[]gguf.Entry{
				{Key: "tokenizer.ggml.model", Value: "bert"}, {Key: "tokenizer.ggml.tokens", Value: d.Tokens},
			},
			`tokenizer is "bert"`,
		},
		{d.entries("qwen2"), `cuts words as "qwen2" does`},
		{[]gguf.Entry{{Key: "tokenizer.ggml.model", Value: "llama"}}, "there is no tokenizer.ggml.tokens"},
		{
			[]gguf.Entry{
				{Key: "tokenizer.ggml.model", Value: "llama"}, {Key: "tokenizer.ggml.tokens", Value: d.Tokens},
				{Key: "tokenizer.ggml.scores", Value: []float32{1}},
			},
			"1 scores for",
		},
		{
			append(d.entries("gpt-2"), gguf.Entry{Key: "tokenizer.ggml.eos_token_id", Value: uint32(1 << 20)}),
			"eos_token_id is 1048576",
		},
	} {
		if _, err := tokenizerOf(t, c.entries); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("error %v, want one that says %q", err, c.says)
		}
	}
	if words, err := tokenizerOf(t, nil); words != nil || err != nil {
		t.Errorf("without a tokenizer: %v, %v", words, err)
	}
}
