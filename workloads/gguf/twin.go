package gguf

import "fmt"

// TwinBlocks is the number of transformer blocks of TinyLlama 1.1B.
const TwinBlocks = 22

// TwinScales are the divisors that Twin takes: every dimension but the number
// of blocks is divided. Above 8 a row of output.weight would be shorter than
// one Q6_K block.
func TwinScales() []int { return []int{1, 2, 4, 8} }

// Twin describes a stand-in for tinyllama-1.1b-chat-q4_0.gguf: 201 tensors (45
// F32, 155 Q4_0, 1 Q6_K) with the original's names, shapes and metadata. At
// scale 1 the tensor data is 635,990,016 bytes, 2,200,096,768 as f16. At every
// scale five distinct sizes remain, with the counts 66, 45, 44, 44 and 2.
func Twin(scale int) (Spec, error) {
	ok := false
	for _, s := range TwinScales() {
		ok = ok || s == scale
	}
	if !ok {
		return Spec{}, fmt.Errorf("scale %d of the model twin: must be one of %v", scale, TwinScales())
	}
	n := uint64(scale)
	hidden, kv, ffn, vocab := 2048/n, 256/n, 5632/n, 32000/n
	s := Spec{Metadata: twinMetadata(uint32(hidden), uint32(ffn))}
	add := func(name string, t Type, dims ...uint64) {
		s.Tensors = append(s.Tensors, Tensor{Name: name, Type: t, Dims: dims})
	}
	add("token_embd.weight", Q4_0, hidden, vocab)
	for i := range TwinBlocks {
		block := func(name string, t Type, dims ...uint64) {
			add(fmt.Sprintf("blk.%d.%s.weight", i, name), t, dims...)
		}
		block("attn_norm", F32, hidden)
		block("attn_q", Q4_0, hidden, hidden)
		block("attn_k", Q4_0, hidden, kv)
		block("attn_v", Q4_0, hidden, kv)
		block("attn_output", Q4_0, hidden, hidden)
		block("ffn_norm", F32, hidden)
		block("ffn_gate", Q4_0, hidden, ffn)
		block("ffn_up", Q4_0, hidden, ffn)
		block("ffn_down", Q4_0, ffn, hidden)
	}
	add("output_norm.weight", F32, hidden)
	add("output.weight", Q6_K, hidden, vocab)
	return s, nil
}

// twinMetadata is the public configuration of TinyLlama 1.1B Chat.
func twinMetadata(hidden, ffn uint32) []Entry {
	return []Entry{
		{"general.architecture", "llama"},
		{"general.name", "TinyLlama 1.1B Chat (twin without weights)"},
		{"general.file_type", uint32(2)}, // mostly Q4_0
		{"llama.block_count", uint32(TwinBlocks)},
		{"llama.context_length", uint32(2048)},
		{"llama.embedding_length", hidden},
		{"llama.feed_forward_length", ffn},
		{"llama.attention.head_count", uint32(32)},
		{"llama.attention.head_count_kv", uint32(4)},
		{"llama.attention.layer_norm_rms_epsilon", float32(1e-5)},
		{"llama.rope.freq_base", float32(10000)},
	}
}
