package llama_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/gpumem/gpumem/workloads/gguf"
	"github.com/gpumem/gpumem/workloads/llama"
)

// trained is a small tokenizer that HuggingFace's tokenizers or SentencePiece
// was trained to, and what they make of some texts.
type trained struct {
	Model  string
	Tokens []string
	Merges []string
	Scores []float32
	Kinds  []int32
	Texts  []struct {
		Text string
		IDs  []int
	}
}

func allTrained(t testing.TB) map[string]trained {
	t.Helper()
	text, err := os.ReadFile("testdata/tokenizers.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]trained
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// entries is the tokenizer as a file carries it.
func (d trained) entries(name string) []gguf.Entry {
	list := []gguf.Entry{
		{Key: "tokenizer.ggml.model", Value: d.Model},
		{Key: "tokenizer.ggml.tokens", Value: d.Tokens},
	}
	if d.Model == "gpt2" {
		return append(list, gguf.Entry{Key: "tokenizer.ggml.merges", Value: d.Merges},
			gguf.Entry{Key: "tokenizer.ggml.pre", Value: name})
	}
	return append(list, gguf.Entry{Key: "tokenizer.ggml.scores", Value: d.Scores},
		gguf.Entry{Key: "tokenizer.ggml.token_type", Value: d.Kinds},
		gguf.Entry{Key: "tokenizer.ggml.bos_token_id", Value: uint32(1)},
		gguf.Entry{Key: "tokenizer.ggml.eos_token_id", Value: uint32(2)})
}

// fileOf is a file without tensors.
func fileOf(t testing.TB, entries []gguf.Entry) *gguf.File {
	t.Helper()
	var b bytes.Buffer
	if err := (gguf.Spec{Metadata: entries}).Write(&b, nil); err != nil {
		t.Fatal(err)
	}
	file, err := gguf.Read(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func tokenizerOf(t testing.TB, entries []gguf.Entry) (*llama.Tokenizer, error) {
	t.Helper()
	return llama.TokenizerOf(fileOf(t, entries))
}

func TestTextsBecomeTheTokensOfTheOriginals(t *testing.T) {
	t.Parallel()
	for name, d := range allTrained(t) {
		words, err := tokenizerOf(t, d.entries(name))
		if err != nil {
			t.Fatal(name, err)
		}
		for _, text := range d.Texts {
			got, err := words.Encode(text.Text)
			if err != nil {
				t.Fatal(name, err)
			}
			if !slices.Equal(got, text.IDs) {
				t.Errorf("%s: %q is %v, want %v", name, text.Text, got, text.IDs)
			}
			var back []byte
			for _, token := range got {
				back = append(back, words.Decode(token)...)
			}
			want := text.Text
			if d.Model == "llama" && want != "" {
				want = " " + want // which SentencePiece puts before every text
			}
			if string(back) != want {
				t.Errorf("%s: %q comes back as %q", name, text.Text, back)
			}
		}
	}
}

func TestATurnOfAChatHasTheTemplatesTokensAndThePersonsText(t *testing.T) {
	t.Parallel()
	d := allTrained(t)["llama"] // whose control tokens are <s> and </s>
	for template, want := range map[string]string{
		"<|im_start|>": " <|im_start|>user\nis </s> text?<|im_end|>\n<|im_start|>assistant\n",
		"[INST]":       " [INST] is </s> text? [/INST]",
		// The end of a turn is a control token, after which a space is put again.
		"<|assistant|>": " <|user|>\nis </s> text? \n<|assistant|>\n",
	} {
		entries := append(d.entries(""), gguf.Entry{Key: "tokenizer.chat_template", Value: template})
		words, err := tokenizerOf(t, entries)
		if err != nil {
			t.Fatal(err)
		}
		chat, err := llama.ChatOf(fileOf(t, entries), words)
		if err != nil {
			t.Fatal(err)
		}
		tokens, err := chat.Turn("is </s> text?", true)
		if err != nil {
			t.Fatal(err)
		}
		var text []byte
		ends := 0
		for _, token := range tokens {
			text = append(text, words.Decode(token)...)
			if words.Ends(token) {
				ends++
			}
		}
		wanted := 0
		if template == "<|assistant|>" {
			wanted = 1
		}
		if string(text) != want || tokens[0] != 1 || ends != wanted {
			t.Errorf("%s: %q, %d ends, tokens %v", template, text, ends, tokens)
		}
	}
	entries := append(d.entries(""), gguf.Entry{Key: "tokenizer.chat_template", Value: "{{ messages }}"})
	words, err := tokenizerOf(t, entries)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := llama.ChatOf(fileOf(t, entries), words); !errors.Is(err, llama.ErrModel) {
		t.Errorf("an unknown template: %v", err)
	}
}
