package llama_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/metal/kernels"
	"github.com/gpumem/gpumem/workloads/gguf"
	"github.com/gpumem/gpumem/workloads/llama"
)

// FuzzEncode wants every text back from its tokens.
func FuzzEncode(f *testing.F) {
	var all []*llama.Tokenizer
	for name, d := range allTrained(f) {
		words, err := tokenizerOf(f, d.entries(name))
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, words)
		for _, text := range d.Texts {
			f.Add(text.Text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		want := strings.ToValidUTF8(text, "\ufffd")
		for _, words := range all {
			tokens, err := words.Encode(text)
			if err != nil {
				t.Fatal(err)
			}
			var back []byte
			for _, token := range tokens {
				back = append(back, words.Decode(token)...)
			}
			// SentencePiece puts a space before, and writes its own sign for one as one.
			got := strings.ReplaceAll(string(back), "\u2581", " ")
			if plain := strings.ReplaceAll(want, "\u2581", " "); got != plain && got != " "+plain {
				t.Errorf("%q comes back as %q", want, got)
			}
		}
	})
}

// FuzzFile gives any bytes for a model: what is taken has a shape that fits its
// tensors, and nothing panics.
func FuzzFile(f *testing.F) {
	c := llama.Tiny()
	c.Blocks, c.Vocab = 1, 4
	var b bytes.Buffer
	words := allTrained(f)["llama"].entries("")
	if err := llama.WriteTwin(&b, c, kernels.Q4_0, 1, words...); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes()[:16<<10])
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, p []byte) {
		file, err := gguf.Read(bytes.NewReader(p), int64(len(p)))
		if err != nil {
			return
		}
		if c, err := llama.ConfigOf(file); err == nil && (c.Vocab < 1 || c.HeadSize() < 2 || c.CacheWidth() > c.Width) {
			t.Errorf("taken: %+v", c)
		}
		if words, err := llama.TokenizerOf(file); err == nil && words != nil {
			if tokens, err := words.Encode("a b"); err == nil {
				for _, token := range tokens {
					words.Decode(token)
				}
			}
		}
	})
}
