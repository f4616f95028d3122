package llama

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/gpumem/gpumem/workloads/gguf"
)

// Tokenizer turns text into tokens and back, as the model's file says: by
// SentencePiece's merges of the best score (Llama 1 and 2, Mistral) or by
// byte-pair encoding (Llama 3, SmolLM). It is immutable and safe for concurrent
// use.
type Tokenizer struct {
	pieces []string
	kinds  []int32
	ids    map[string]int
	scores []float32      // of SentencePiece, nil of byte pairs
	ranks  map[string]int // of byte pairs, by both with a space between
	split  splitter

	begin     int // token before a text, -1 for none
	ends      map[int]bool
	spaceLead bool // SentencePiece puts a space before the text
}

// The kinds of tokens (llama.cpp, llama_token_type).
const (
	kindControl = 3
	kindAdded   = 4
	kindByte    = 6
)

// space is how SentencePiece writes one.
const space = "\u2581"

// TokenizerOf reads a file's tokenizer, nil when it has none. Errors match
// ErrModel or gguf.ErrFormat.
func TokenizerOf(f *gguf.File) (*Tokenizer, error) {
	m := &metadata{file: f}
	model := m.text("tokenizer.ggml.model")
	if model == "" || model == "no_vocab" {
		return nil, nil
	}
	t := &Tokenizer{ids: map[string]int{}, ends: map[int]bool{}, begin: -1}
	var err error
	if t.pieces, err = f.Strings("tokenizer.ggml.tokens"); err != nil {
		return nil, err
	}
	if _, ok := f.Value("tokenizer.ggml.token_type"); ok {
		if t.kinds, err = f.Ints("tokenizer.ggml.token_type"); err != nil {
			return nil, err
		}
	}
	for id, piece := range t.pieces {
		if _, known := t.ids[piece]; !known {
			t.ids[piece] = id
		}
	}
	switch model {
	case "llama":
		t.scores, err = f.Floats("tokenizer.ggml.scores")
		if err == nil && len(t.scores) != len(t.pieces) {
			m.refuse("its tokenizer has %d scores for %d tokens", len(t.scores), len(t.pieces))
		}
	case "gpt2":
		err = t.readMerges(f, m)
	default:
		m.refuse("its tokenizer is %q; llama (SentencePiece) and gpt2 (byte pairs) work", model)
	}
	if err != nil {
		return nil, err
	}
	t.readSpecial(m)
	return t, m.err
}

func (t *Tokenizer) readMerges(f *gguf.File, m *metadata) error {
	merges, err := f.Strings("tokenizer.ggml.merges")
	if err != nil {
		return err
	}
	t.ranks = make(map[string]int, len(merges))
	for rank, pair := range merges {
		if _, known := t.ranks[pair]; !known {
			t.ranks[pair] = rank
		}
	}
	var ok bool
	if t.split, ok = splitterOf(m.text("tokenizer.ggml.pre")); !ok {
		m.refuse("its tokenizer cuts words as %q does; %s work", m.text("tokenizer.ggml.pre"), splitterNames)
	}
	return nil
}

func (t *Tokenizer) readSpecial(m *metadata) {
	flag := func(key string, without bool) bool {
		v, ok := m.file.Value(key)
		if b, is := v.(bool); ok && is {
			return b
		}
		return without
	}
	t.spaceLead = flag("tokenizer.ggml.add_space_prefix", true)
	last := max(len(t.pieces)-1, 0)
	_, begins := m.file.Value("tokenizer.ggml.bos_token_id")
	if begins && flag("tokenizer.ggml.add_bos_token", t.scores != nil) {
		t.begin = m.number("tokenizer.ggml.bos_token_id", 0, last, -1)
	}
	for _, key := range []string{"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"} {
		if _, ok := m.file.Value(key); ok {
			t.ends[m.number(key, 0, last, -1)] = true
		}
	}
	for _, piece := range []string{"<|eot_id|>", "<|im_end|>", "<|end_of_text|>"} {
		if id, ok := t.ids[piece]; ok && t.kind(id) == kindControl {
			t.ends[id] = true
		}
	}
}

// Len is the number of tokens.
func (t *Tokenizer) Len() int { return len(t.pieces) }

// Ends reports that a token ends an answer.
func (t *Tokenizer) Ends(token int) bool { return t.ends[token] }

func (t *Tokenizer) kind(token int) int32 {
	if token < len(t.kinds) {
		return t.kinds[token]
	}
	return 1
}

// special reports a token that stands for no text of its own.
func (t *Tokenizer) special(token int) bool {
	return t.kind(token) == kindControl || t.kind(token) == kindAdded
}

// Encode is the tokens of a text, behind the one that begins every text. What
// looks like a control token in it is text.
func (t *Tokenizer) Encode(text string) ([]int, error) {
	var tokens []int
	if t.begin >= 0 {
		tokens = append(tokens, t.begin)
	}
	return t.append(tokens, text, t.spaceLead)
}

func (t *Tokenizer) append(tokens []int, text string, lead bool) ([]int, error) {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\ufffd")
	}
	if text == "" {
		return tokens, nil
	}
	if t.scores != nil {
		if lead {
			text = " " + text
		}
		return t.pieceByPiece(tokens, strings.ReplaceAll(text, " ", space), t.score)
	}
	for len(text) > 0 {
		n := t.split(text)
		var word strings.Builder
		for _, b := range []byte(text[:n]) {
			word.WriteRune(runeOf(b))
		}
		var err error
		if tokens, err = t.pieceByPiece(tokens, word.String(), t.rank); err != nil {
			return nil, err
		}
		text = text[n:]
	}
	return tokens, nil
}

// score is how late SentencePiece merges two pieces, +Inf for never.
func (t *Tokenizer) score(a, b string) float64 {
	if id, ok := t.ids[a+b]; ok && t.kind(id) != kindControl {
		return -float64(t.scores[id])
	}
	return math.Inf(1)
}

// rank is that of byte pairs.
func (t *Tokenizer) rank(a, b string) float64 {
	if r, ok := t.ranks[a+" "+b]; ok {
		return float64(r)
	}
	return math.Inf(1)
}

// pieceByPiece merges characters and looks the pieces up; what is no piece is
// written byte by byte.
func (t *Tokenizer) pieceByPiece(tokens []int, text string, cost func(a, b string) float64) ([]int, error) {
	for _, piece := range merge(text, cost) {
		if id, ok := t.ids[piece]; ok {
			tokens = append(tokens, id)
			continue
		}
		for _, b := range []byte(piece) {
			id, ok := t.ids[fmt.Sprintf("<0x%02X>", b)]
			if !ok {
				return nil, fmt.Errorf("%q: the tokenizer has no token for it", piece)
			}
			tokens = append(tokens, id)
		}
	}
	return tokens, nil
}

// Decode is the bytes of a token: parts of a character may need those of the
// next. Control tokens have none.
func (t *Tokenizer) Decode(token int) []byte {
	if token < 0 || token >= len(t.pieces) || t.kind(token) == kindControl {
		return nil
	}
	piece := t.pieces[token]
	if t.scores == nil {
		var p []byte
		for _, r := range piece {
			if b, ok := byteOf(r); ok {
				p = append(p, b)
			} else {
				p = utf8.AppendRune(p, r) // of a token that was added later
			}
		}
		return p
	}
	var b byte
	if n, err := fmt.Sscanf(piece, "<0x%02X>", &b); t.kind(token) == kindByte && err == nil && n == 1 {
		return []byte{b}
	}
	return []byte(strings.ReplaceAll(piece, space, " "))
}
