package llama

import (
	"fmt"
	"strings"

	"github.com/gpumem/gpumem/workloads/gguf"
)

// Chat writes turns of a conversation as a model was trained to read them.
type Chat struct {
	words         *Tokenizer
	before, after []string // of what a person says: control tokens and text
}

// chats are the templates that are known, by a token that only their text has.
func chats() []struct {
	name, mark    string
	before, after []string
} {
	return []struct {
		name, mark    string
		before, after []string
	}{
		{
			"ChatML", "<|im_start|>",
			[]string{"<|im_start|>", "user\n"}, []string{"<|im_end|>", "\n", "<|im_start|>", "assistant\n"},
		},
		{
			"Llama 3", "<|start_header_id|>",
			[]string{"<|start_header_id|>", "user", "<|end_header_id|>", "\n\n"},
			[]string{"<|eot_id|>", "<|start_header_id|>", "assistant", "<|end_header_id|>", "\n\n"},
		},
		{"Zephyr", "<|assistant|>", []string{"<|user|>", "\n"},
			[]string{"</s>", "\n", "<|assistant|>", "\n"}},
		{"Llama 2", "[INST]", []string{"[INST]", " "}, []string{" ", "[/INST]"}},
	}
}

// ChatOf finds how a file's model reads a conversation. It is an error matching
// ErrModel when the file does not say, or says what is not known here.
func ChatOf(f *gguf.File, words *Tokenizer) (*Chat, error) {
	m := &metadata{file: f}
	template := m.text("tokenizer.chat_template")
	if words == nil || template == "" {
		return nil, fmt.Errorf("%w in a chat: the file has no tokenizer, or no template of a chat", ErrModel)
	}
	var names []string
	for _, c := range chats() {
		if strings.Contains(template, c.mark) {
			return &Chat{words, c.before, c.after}, nil
		}
		names = append(names, c.name)
	}
	return nil, fmt.Errorf("%w in a chat: its template is none of %s", ErrModel, strings.Join(names, ", "))
}

// Turn is the tokens of what a person says, up to where the model answers. The
// first turn has the token before it that begins every text. What a person says
// is text, also where it looks like a control token.
func (c *Chat) Turn(text string, first bool) (tokens []int, err error) {
	if first && c.words.begin >= 0 {
		tokens = append(tokens, c.words.begin)
	}
	written := "" // text since the last control token
	flush := func() {
		if err == nil {
			tokens, err = c.words.append(tokens, written, c.words.spaceLead)
			written = ""
		}
	}
	add := func(part string) {
		id, ok := c.words.ids[part]
		if !ok || !c.words.special(id) {
			written += part
			return
		}
		flush()
		tokens = append(tokens, id)
	}
	for _, part := range c.before {
		add(part)
	}
	written += text
	for _, part := range c.after {
		add(part)
	}
	flush()
	return tokens, err
}
