package workloads

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/metal/kernels"
	"github.com/gpumem/gpumem/workloads/gguf"
	"github.com/gpumem/gpumem/workloads/llama"
)

// answers are the lines of the requests that a run prints.
func answers(t *testing.T, e Env, out *bytes.Buffer) []string {
	t.Helper()
	if err := run(t, "generate", e); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	return regexp.MustCompile(`(?m)^request \d+: .*$`).FindAllString(out.String(), -1)
}

func TestAnswersAreTheSameOnTheHostAndOnTheDeviceAndWithTheSameSeed(t *testing.T) {
	t.Parallel()
	generated := func(host bool, seed int64) string {
		var out bytes.Buffer
		flags := map[string]string{"requests": "4", "temperature": "0.7", "top-k": "50", "top-p": "0.9"}
		e := softEnv(t, &out, flags)
		e.Seed = seed
		if host {
			e.Open = nil
		}
		return strings.Join(answers(t, e, &out), "\n")
	}
	first := generated(false, 1)
	if strings.Count(first, "request") != 4 || first != generated(true, 1) || first != generated(false, 1) {
		t.Errorf("answers differ:\n%s\n%s", first, generated(true, 1))
	}
	if first == generated(false, 2) {
		t.Error("another seed gives the same answers")
	}
}

func TestRequestsAnsweredAtOnceHaveTheirOwnCaches(t *testing.T) {
	t.Parallel()
	flags := map[string]string{"prompt-tokens": "1,2,3,4,5", "requests": "3", "tokens": "10"}
	var one, all bytes.Buffer
	alone := answers(t, softEnv(t, &one, flags), &one)
	flags["at-once"] = "3"
	together := answers(t, softEnv(t, &all, flags), &all)
	if len(alone) != 3 || strings.Join(alone, "\n") != strings.Join(together, "\n") {
		t.Errorf("alone %q, together %q", alone, together)
	}
	const cache = 2 * 2 * 15 * 32 * 4 // blocks, keys and values, positions, values, bytes
	if !strings.Contains(all.String(), "KV cache: 7680 B a session at most, 23040 B at once") || cache != 7680 {
		t.Errorf("the caches' sizes are not said:\n%s", all.String())
	}
	if !regexp.MustCompile(`(?m)^\d+\.\d tokens/s written`).MatchString(all.String()) {
		t.Errorf("the speed is not said:\n%s", all.String())
	}
}

// modelFile writes a twin with more metadata.
func modelFile(t *testing.T, more ...gguf.Entry) string {
	t.Helper()
	c := llama.Tiny()
	c.Vocab = 500
	var b bytes.Buffer
	if err := llama.WriteTwin(&b, c, kernels.Q4_0, 3, more...); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.gguf")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// wordyModel writes a twin with SentencePiece's tokenizer.
func wordyModel(t *testing.T, more ...gguf.Entry) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("llama", "testdata", "tokenizers.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]struct {
		Tokens []string
		Scores []float32
		Kinds  []int32
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	d := all["llama"]
	return modelFile(t, append(more, gguf.Entry{Key: "tokenizer.ggml.model", Value: "llama"},
		gguf.Entry{Key: "tokenizer.ggml.tokens", Value: d.Tokens},
		gguf.Entry{Key: "tokenizer.ggml.scores", Value: d.Scores},
		gguf.Entry{Key: "tokenizer.ggml.token_type", Value: d.Kinds},
		gguf.Entry{Key: "tokenizer.ggml.bos_token_id", Value: uint32(1)})...)
}

func TestAModelWithATokenizerReadsAndWritesText(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	flags := map[string]string{"model": wordyModel(t), "prompt": "memory grows", "tokens": "6"}
	if err := run(t, "generate", softEnv(t, &out, flags)); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	_, after, _ := strings.Cut(out.String(), "as they are in the file\n")
	answer, _, _ := strings.Cut(after, "\nanswered 1 request with 6 tokens\n")
	if answer == "" || strings.Contains(answer, "request") || strings.Contains(answer, "\u2581") {
		t.Errorf("the answer is no text: %q", out.String())
	}
}

func TestAChatAnswersEachLineInOneSession(t *testing.T) {
	t.Parallel()
	path := wordyModel(t, gguf.Entry{Key: "tokenizer.chat_template", Value: "{{ '<|user|>' }} … {{ '<|assistant|>' }}"})
	var out bytes.Buffer
	e := softEnv(t, &out, map[string]string{"model": path, "chat": "yes", "tokens": "5", "context": "200"})
	e.Stdin = strings.NewReader("what grows?\n\nand why?\n")
	if err := run(t, "generate", e); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if !strings.Contains(out.String(), "answered 2 requests with 10 tokens") {
		t.Errorf("two lines have other answers:\n%s", out.String())
	}
	for in, c := range map[string]struct{ flag, value, says string }{
		"":                                 {"", "", "the standard input was empty"},
		strings.Repeat("a long line ", 90): {"context", "100", "does not fit in 100 positions"},
		"hello":                            {"prompt-tokens", "1", "give --prompt instead"},
	} {
		out.Reset()
		e := softEnv(t, &out, map[string]string{"model": path, "chat": "yes"})
		if c.flag != "" {
			e.Flags[c.flag] = c.value
		}
		e.Stdin = strings.NewReader(in)
		if err := run(t, "generate", e); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%.20q: error %v, want one that says %q", in, err, c.says)
		}
	}
	e = softEnv(t, &out, map[string]string{"model": wordyModel(t), "chat": "yes"})
	if err := run(t, "generate", e); err == nil || !strings.Contains(err.Error(), "no template of a chat") {
		t.Errorf("without a template: %v", err)
	}
}

func TestWhatGenerateCannotDoIsSaidBeforeAnythingIsLoaded(t *testing.T) {
	t.Parallel()
	plain := modelFile(t)
	for _, c := range []struct {
		flags map[string]string
		says  string
	}{
		{map[string]string{"model": plain}, "give --prompt or --prompt-tokens"},
		{map[string]string{"model": plain, "prompt": "hello"}, "no tokenizer: give --prompt-tokens"},
		{map[string]string{"prompt": "hello", "prompt-tokens": "1"}, "--prompt and --prompt-tokens: give one of them"},
		{map[string]string{"prompt-tokens": "1,x"}, "separated by commas"},
		{map[string]string{"prompt-tokens": "1,99999"}, "has the token 99999; the model has 0 to 6143"},
		{map[string]string{"tokens": "500"}, "do not fit in 512 positions"},
		{map[string]string{"context": "20"}, "do not fit in 20 positions"},
		{map[string]string{"temperature": "-1"}, "from 0 to 100"},
		{map[string]string{"top-p": "NaN"}, "from 0 to 1"},
		{map[string]string{"model": "/none.gguf"}, "no such file"},
		{map[string]string{"model": "/dev/zero"}, "not a regular file"},
	} {
		var out bytes.Buffer
		err := run(t, "generate", softEnv(t, &out, c.flags))
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(out.String(), "loaded") {
			t.Errorf("%v: error %v, want one that says %q\n%s", c.flags, err, c.says, out.String())
		}
	}
}

func TestTheWeightCacheChangesNoAnswerAndSaysWhatItDid(t *testing.T) {
	t.Parallel()
	flags := map[string]string{"requests": "3"}
	var without, with bytes.Buffer
	plain := answers(t, softEnv(t, &without, flags), &without)
	flags["weight-cache"] = "1"
	if cached := answers(t, softEnv(t, &with, flags), &with); strings.Join(plain, "\n") != strings.Join(cached, "\n") {
		t.Errorf("without the cache %q, with it %q", plain, cached)
	}
	// 24 forward passes, 15 products each; the output matrix of 1.5 MiB is larger than the cache.
	said := "weight cache: 89.4 % of 360 requests hit, 14 matrices of 294912 B kept, 294912 B at most, 0 " +
		"evicted, 24 too large"
	if !strings.Contains(with.String(), said) || strings.Contains(without.String(), "weight cache") {
		t.Errorf("no %q in\n%s", said, with.String())
	}
}

// TestTheTargetsOfTheArcPlanArePrintedWithTheirAudit holds what does not depend on
// the machine's speed.
func TestTheTargetsOfTheArcPlanArePrintedWithTheirAudit(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	flags := map[string]string{"targets": "yes", "requests": "4", "tokens": "3"}
	if err := run(t, "generate", softEnv(t, &out, flags)); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{
		`(?m)^Targets of the Arc plan, measured on soft \(driver soft\)`,
		`(?m)^live memory in the chat, at most( +[\d.]+ MiB){3} +50 % below copies +\d+\.\d % below +(met|missed)$`,
		`(?m)^returned buffers that the pool kept .* above 95 % +100.0 % +met$`,
		`(?m)^tokens a second, read and written( +\d+\.\d){3} +at most 5 % below direct +[+-][\d.]+ %`,
		`(?m)^times the program waited for the device .* no more than direct +\d+ +met$`,
		`(?m)^still live after everything was released( +0 B){5} +met$`,
		`(?m)^references that a token left, at most( +0){5} +met$`,
		`(?m)^one reference: counted, and given up +– +[\d.]+[nµm]s +– +about 5 ns`,
		`(?m)^one handle: its scope, holder and audit, too +– +\d`,
		`(?m)^The plan's own figures, 918 MB instead of 2098 MB, are no target: `,
		`(?m)^get_tensor .* 1 +workloads/generate_sites.go:\d+$`,
		`(?m)^build_layer_collection .* 18 +workloads/generate_sites.go:\d+$`,
		`(?m)^get_property .* 24 +workloads/generate_sites.go:\d+$`,
		`(?m)^weight cache, get .* 165 +llama/weightcache.go:\d+$`,
		`(?m)^weight cache, put .* 15 +llama/weightcache.go:\d+$`,
		`(?m)^llama .* 216 +workloads/generate_sites.go:\d+$`,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
	e := softEnv(t, &out, flags)
	e.Open = nil
	if err := run(t, "generate", e); err == nil || !strings.Contains(err.Error(), "not the host") {
		t.Errorf("on the host: %v", err)
	}
}

func TestThePoolOfTheTLLanguageKeepsFewerBesideALargeCache(t *testing.T) {
	t.Parallel()
	for mib, want := range map[int64]int{0: 32, 99: 32, 100: 28, 250: 24, 699: 8, 700: 4, 5000: 4} {
		if got := tlIdle(mib << 20); got != want {
			t.Errorf("beside %d MiB %d, want %d", mib, got, want)
		}
	}
}
