package workloads

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/metal/soft"
	"github.com/gpumem/gpumem/pool"
	"github.com/gpumem/gpumem/workloads/gguf"
	"github.com/gpumem/gpumem/workloads/llama"
	"github.com/gpumem/gpumem/workloads/tensor"
)

// converted is what transformers says of a model that llama.cpp's converter wrote.
type converted struct {
	folder    string
	Prompt    string
	Tokens    []int // of the prompt, by sentencepiece
	Questions []string
	Turn      []int // of the first question in the template, by sentencepiece
	Answers   map[string]struct {
		Logits  []float64 // of the token after the prompt
		Tokens  []int     // that follow, greedily
		Text    string    // of these tokens, by sentencepiece
		Replies []string  // to the questions, one after the other in one chat
	}
}

// convert has the model made in each of the converter's types.
func convert(t *testing.T, kinds ...string) converted {
	t.Helper()
	python, models := os.Getenv("GPUMEM_TEST_TORCH"), os.Getenv("GPUMEM_TEST_MODELS")
	if _, err := os.Stat(models); models == "" || err != nil {
		t.Skip("transformers and llama.cpp's converter are not installed here; scripts/test.sh does that")
	}
	if exec.Command(python, "-c", "import torch").Run() != nil {
		t.Skip("needs a python with PyTorch, which GPUMEM_TEST_TORCH names and scripts/test.sh installs")
	}
	c, source := converted{folder: t.TempDir()}, filepath.Join(models, "llama.cpp")
	script := filepath.Join("llama", "testdata", "converted.py")
	args := append([]string{script, filepath.Join(source, "convert_hf_to_gguf.py"), c.folder}, kinds...)
	cmd := exec.CommandContext(t.Context(), python, args...)
	path := strings.Join([]string{models, source, filepath.Join(source, "gguf-py")}, string(os.PathListSeparator))
	cmd.Env = append(os.Environ(), "PYTHONPATH="+path, "PYTHONDONTWRITEBYTECODE=1", "HF_HUB_OFFLINE=1")
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("%v\n%s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &c); err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	return c
}

func (c converted) path(kind string) string { return filepath.Join(c.folder, "model-"+kind+".gguf") }

// said is the logits behind a prompt on the soft device, and the tokens that follow
// greedily.
func said(t *testing.T, path string, prompt []int, count int) (first []float32, chosen []int) {
	t.Helper()
	file, err := gguf.Map(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	device, err := soft.Open(soft.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	policy, err := pool.PolicyByName("default")
	if err != nil {
		t.Fatal(err)
	}
	rt, err := tensor.New(tensor.Options{Device: device, Policy: policy})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	m, err := llama.Load(rt, file, 64, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Release()
	cache, err := m.NewCache(64)
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Release()
	var greedy llama.Sampler
	for next := prompt; len(chosen) < count; next = chosen[len(chosen)-1:] {
		row, err := m.Forward(next, cache)
		if err != nil {
			t.Fatal(err)
		}
		logits, err := row.Values()
		if err := errors.Join(err, row.Release()); err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = slices.Clone(logits)
		}
		chosen = append(chosen, greedy.Pick(logits))
	}
	return first, chosen
}

// TestAModelThatLlamaCppsConverterWroteSaysWhatTransformersSays has a small Llama
// trained by transformers on three sentences, and wants its tokens, its logits and its
// text of the file that the converter makes of it.
func TestAModelThatLlamaCppsConverterWroteSaysWhatTransformersSays(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	kinds := []string{"f32", "f16", "bf16", "q8_0"}
	c := convert(t, kinds...)
	for _, kind := range kinds {
		want := c.Answers[kind]
		checkWords(t, c, kind)
		got, chosen := said(t, c.path(kind), c.Tokens, len(want.Tokens))
		if !slices.Equal(chosen, want.Tokens) {
			t.Errorf("%s: greedy tokens %v, transformers chooses %v", kind, chosen, want.Tokens)
		}
		largest, worst := 0., 0.
		for i, w := range want.Logits {
			largest, worst = max(largest, math.Abs(w)), max(worst, math.Abs(float64(got[i])-w))
		}
		if len(got) != len(want.Logits) || !(worst <= 1e-3*largest) || largest < 1 {
			t.Errorf("%s: %d logits differ by up to %g, of %g", kind, len(got), worst, largest)
		}
		t.Logf("%s: logits differ by %.1e of the largest; then %q", kind, worst/largest, want.Text)

		var out bytes.Buffer
		flags := map[string]string{"model": c.path(kind), "prompt": c.Prompt, "tokens": "24"}
		if err := run(t, "generate", softEnv(t, &out, flags)); err != nil {
			t.Fatalf("%s: %v\n%s", kind, err, out.String())
		}
		if !strings.Contains(out.String(), "file\n"+want.Text+"\nanswered 1 request") || want.Text == "" {
			t.Errorf("%s: no %q in\n%s", kind, want.Text, out.String())
		}
		checkReplies(t, c, kind)
	}
}

// checkWords wants sentencepiece's tokens of the prompt, and of a turn of a chat.
func checkWords(t *testing.T, c converted, kind string) {
	t.Helper()
	file, err := gguf.Open(c.path(kind))
	if err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	defer file.Close()
	words, err := llama.TokenizerOf(file)
	if err != nil || words == nil {
		t.Fatalf("%s: tokenizer %v, error %v", kind, words, err)
	}
	if got, err := words.Encode(c.Prompt); err != nil || !slices.Equal(got, c.Tokens) {
		t.Errorf("%s: %q is the tokens %v (error %v), sentencepiece has %v", kind, c.Prompt, got, err,
			c.Tokens)
	}
	chat, err := llama.ChatOf(file, words)
	if err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	if got, err := chat.Turn(c.Questions[0], true); err != nil || !slices.Equal(got, c.Turn) {
		t.Errorf("%s: a turn is the tokens %v (error %v), sentencepiece has %v", kind, got, err, c.Turn)
	}
}

// checkReplies has two turns of a chat on the standard input, and the first one as a
// prompt, and wants what transformers replies.
func checkReplies(t *testing.T, c converted, kind string) {
	t.Helper()
	replies := c.Answers[kind].Replies
	for _, asked := range []struct{ prompt, stdin, want string }{
		{"", strings.Join(c.Questions, "\n"), " " + replies[0] + "\n " + replies[1] + "\nanswered 2 requests"},
		{c.Questions[0], "", " " + replies[0] + "\nanswered 1 request"},
	} {
		var out bytes.Buffer
		e := softEnv(t, &out, map[string]string{"model": c.path(kind), "chat": "yes", "prompt": asked.prompt})
		e.Stdin = strings.NewReader(asked.stdin)
		if err := run(t, "generate", e); err != nil {
			t.Fatalf("%s: %v\n%s", kind, err, out.String())
		}
		if !strings.Contains(out.String(), "file\n"+asked.want) || replies[0] == "" ||
			replies[0] == replies[1] {
			t.Errorf("%s: no %q in\n%s", kind, asked.want, out.String())
		}
	}
}
