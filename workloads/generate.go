package workloads

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gpumem/gpumem/metal/kernels"
	"github.com/gpumem/gpumem/workloads/console"
	"github.com/gpumem/gpumem/workloads/gguf"
	"github.com/gpumem/gpumem/workloads/llama"
)

// What generate does without --model, and with it where no flag says so.
const (
	twinRequests, twinTokens   = 240, 8
	modelRequests, modelTokens = 1, 64
	chatTokens                 = 512
	modelContext               = 2048
	// A made-up prompt has so many tokens.
	shortestPrompt, longestPrompt = 4, 64
	// shownRequests are printed of many.
	shownRequests = 3
)

func generate() Workload {
	return Workload{
		Name:    "generate",
		Summary: "answers requests with a language model of the Llama family: a GGUF file, or a tiny twin",
		Faults:  generateFaults(),
		Flags: []Flag{
			{Name: "model",
				Help: "GGUF file to load (default: a tiny Llama with random weights made from --seed)"},
			{Name: "prompt", Help: "text to continue; needs a model with a tokenizer"},
			{
				Name: "chat", Default: "no", Bare: "yes", Check: yesOrNo,
				Help: "read --prompt, or each line of the standard input, as a turn of a conversation",
			},
			{Name: "prompt-tokens", Help: "the prompt as numbers of tokens, separated by commas",
				Check: checkTokens},
			whole("tokens", 0, 0, "tokens to write for each request; 0 is 64 with --model and 8 without, "+
				"512 in a chat, or what has room"),
			whole("requests", 0, 0, "requests to answer; 0 is 1 with --model and 240 without"),
			whole("at-once", 1, 1, "requests that are answered at the same time, a token of each in turn"),
			whole("context", 0, 0,
				"positions of a request at most; 0 is 2048, or what the model has if that is less"),
			whole("weight-cache", 0, 0,
				"MiB of decoded weights to keep, of which the one used longest ago goes first; 0 keeps none"),
			{
				Name: "targets", Default: "no", Bare: "yes", Check: yesOrNo,
				Help: "measure the targets of the Arc plan: weights taken by copies, by handles and " +
					"directly, in turn",
			},
			real("temperature", "0", 0, 100,
				"temperature: logits are divided by it before a token is drawn; 0 takes the most likely"),
			whole("top-k", 0, 0, "tokens to draw from, the most likely ones; 0 is all"),
			real("top-p", "1", 0, 1, "total probability of the tokens to draw from"),
		},
		check: checkGenerate,
		run:   runGenerate,
	}
}

// generateFaults are the defects that can be planted in it, with their truths.
func generateFaults() []Fault {
	return []Fault{
		{
			Name: "kv-not-released", Truth: "app-leak", Cause: "results-kept",
			Summary: "the KV cache of a request is forgotten at its end and not released",
		},
		{
			Name: "kv-clone", Truth: "app-leak", Cause: "snapshots-kept",
			Summary: "the KV cache is copied at each token, to be able to go back, and every copy is " +
				"kept",
		},
		{
			Name: "weight-cache", Truth: "app-leak", Cause: "cache-without-bound",
			Summary: "decoded weights are kept under the request's name as well, so that the cache " +
				"never hits",
		},
		{
			Name: "retained-logits", Truth: "app-leak", Cause: "results-kept",
			Summary: "a list keeps the logits of each token",
		},
		{
			Name: "sessions-never-expired", Truth: "app-leak", Cause: "sessions-kept",
			Summary: "sessions stay open for follow-ups that never come",
		},
		{
			Name: "two-at-once", Truth: "app-leak", Cause: "sessions-kept", Also: "snapshots-kept",
			Summary: "two leaks: sessions stay open, and a copy of each one's cache is kept as well",
		},
		{
			Name: "no-autorelease-pool", Truth: "driver-growth", Cause: "missing-autorelease-pool",
			Summary: "tokens are written outside of every autorelease scope: the driver's temporaries stay",
		},
		{
			Name: "exact-sizes", Truth: "pool-growth", Cause: "pool-never-trims",
			Summary: "prompts have ever new lengths, and the pool keeps buffers of each exact size for " +
				"ever",
		},
	}
}

// real is a flag with a number from low to high.
func real(name, value string, low, high float64, help string) Flag {
	return Flag{Name: name, Default: value, Help: help, Check: func(s string) error {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil || !(v >= low && v <= high) {
			return fmt.Errorf("must be a number from %g to %g", low, high)
		}
		return nil
	}}
}

func yesOrNo(s string) error {
	if s != "yes" && s != "no" {
		return errors.New("must be yes or no")
	}
	return nil
}

func checkTokens(s string) error {
	_, err := tokenList(s)
	return err
}

// tokenList is the numbers of a list, nil of an empty one.
func tokenList(s string) (tokens []int, err error) {
	if s == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(s, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 0 {
			return nil, errors.New("must be numbers from 0 on, separated by commas, as in 1,15043,3186")
		}
		tokens = append(tokens, n)
	}
	return tokens, nil
}

// checkGenerate refuses a model that does not run, and a prompt that it cannot
// read.
func checkGenerate(p *program) error {
	file, err := p.openModel()
	if err != nil {
		return err
	}
	defer file.Close()
	g, err := p.newGenerator(file)
	if err == nil && p.flag("targets") == "yes" && g.talks() {
		err = errors.New("--targets asks its own questions: give --prompt, or no --chat")
	}
	return err
}

func runGenerate(ctx context.Context, p *program) (err error) {
	file, err := p.openModel()
	if err != nil {
		return err
	}
	defer file.Close()
	g, err := p.newGenerator(file)
	if err != nil {
		return err
	}
	if p.flag("targets") == "yes" {
		return p.targets(ctx, file)
	}
	if err := g.load(file); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	start := time.Now()
	work := g.serve
	if g.talks() {
		work = g.converse
	}
	if err := work(ctx); err != nil {
		return err
	}
	g.summary(time.Since(start))
	return nil
}

// openModel opens the file, or makes the twin's in memory.
func (p *program) openModel() (*gguf.File, error) {
	if path := p.flag("model"); path != "" {
		file, err := gguf.Map(path)
		if err != nil {
			return nil, modelRefused(path, err)
		}
		return file, nil
	}
	var twin bytes.Buffer
	if err := llama.WriteTwin(&twin, llama.Tiny(), kernels.Q8_0, p.Seed); err != nil {
		return nil, err
	}
	return gguf.Read(bytes.NewReader(twin.Bytes()), int64(twin.Len()))
}

// or is a number's value, and without where it is 0.
func (p *program) or(name string, without int) int {
	if n := p.number(name); n > 0 {
		return n
	}
	return without
}

// fraction is the value of a setting with a number, which was checked.
func (p *program) fraction(name string) float64 {
	v, _ := strconv.ParseFloat(p.flag(name), 64)
	return v
}

// newGenerator checks what is asked of the model before anything is loaded.
func (p *program) newGenerator(file *gguf.File) (*generator, error) {
	c, err := llama.ConfigOf(file)
	if err != nil {
		return nil, modelRefused(p.flag("model"), err)
	}
	g := &generator{program: p, twin: p.flag("model") == ""}
	g.context = p.or("context", min(modelContext, c.Context))
	g.requests, g.tokens = p.or("requests", modelRequests), p.or("tokens", modelTokens)
	if g.twin {
		g.requests, g.tokens = p.or("requests", twinRequests), p.or("tokens", twinTokens)
	}
	if p.flag("chat") == "yes" {
		g.tokens = p.or("tokens", chatTokens)
	}
	g.requests *= p.Repeat
	g.sampler = llama.NewSampler(p.fraction("temperature"), p.number("top-k"), p.fraction("top-p"), p.Seed)
	if g.prompt, err = tokenList(p.flag("prompt-tokens")); err != nil {
		return nil, err
	}
	if err := g.readPrompt(file); err != nil {
		return nil, err
	}
	return g, g.fits(c)
}

// fits refuses a prompt that the model cannot read, or has no room for. Where no
// number of tokens was asked for, there are as many as have room.
func (g *generator) fits(c llama.Config) error {
	longest := len(g.prompt)
	if longest == 0 {
		longest = longestPrompt
	}
	if room := g.context - longest; g.number("tokens") == 0 && room > 0 {
		g.tokens = min(g.tokens, room)
	}
	if longest+g.tokens > g.context && !g.talks() {
		return fmt.Errorf("a prompt of %d tokens and %d more do not fit in %d positions: "+
			"give fewer --tokens or a larger --context", longest, g.tokens, g.context)
	}
	for _, token := range g.prompt {
		if token >= c.Vocab {
			return fmt.Errorf("the prompt has the token %d; the model has 0 to %d", token, c.Vocab-1)
		}
	}
	return nil
}

// talks reports a chat with who is at the standard input.
func (g *generator) talks() bool { return g.chat != nil && len(g.prompt) == 0 }

// readPrompt makes tokens of the prompt's text.
func (g *generator) readPrompt(file *gguf.File) error {
	var err error
	if g.words, err = llama.TokenizerOf(file); err != nil {
		return err
	}
	text := g.flag("prompt")
	if g.flag("chat") == "yes" {
		chat, err := llama.ChatOf(file, g.words)
		if err != nil {
			return err
		}
		return g.readChat(chat, text)
	}
	if text == "" {
		if len(g.prompt) == 0 && !g.twin {
			return errors.New("there is no prompt: give --prompt or --prompt-tokens")
		}
		return nil
	}
	if len(g.prompt) > 0 {
		return errors.New("--prompt and --prompt-tokens: give one of them")
	}
	if g.words == nil {
		return errors.New("--prompt: the model has no tokenizer: give --prompt-tokens")
	}
	g.prompt, err = g.words.Encode(text)
	return err
}

// load puts the weights on the device, and says how far it is to who watches.
func (g *generator) load(file *gguf.File) (err error) {
	progress := func(int64, int64) {}
	if isTerminal(g.Stderr) {
		last := int64(-1)
		progress = func(done, all int64) {
			if part := 100 * done / max(all, 1); part != last {
				last = part
				fmt.Fprintf(g.Stderr, "\rloading: %d %%", part)
				if done == all {
					fmt.Fprint(g.Stderr, "\r             \r")
				}
			}
		}
	}
	if g.model, err = llama.Load(g.rt, file, g.context, progress); err != nil {
		return err
	}
	if most := g.number("weight-cache"); most > 0 {
		g.cache = llama.NewWeightCache(int64(most) << 20)
		g.model.Keep = g.cache.Get
	}
	if g.Fault == "weight-cache" {
		g.model.Keep = g.keepWeights
	}
	g.did(console.Let)
	fmt.Fprintf(g.Stdout, "loaded %d tensors, %d B as they are in the file\n", len(file.Tensors),
		g.model.WeightBytes())
	return nil
}

// isTerminal reports that somebody looks at a stream.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0 && f.Name() != os.DevNull
}

// summary says how fast it was, beside what the caches took.
func (g *generator) summary(took time.Duration) {
	fmt.Fprintf(g.Stdout, "answered %s with %s\n", counted(g.answered, "request"),
		counted(g.written, "token"))
	speed := float64(g.read+g.written) / math.Max(took.Seconds(), 1e-9)
	fmt.Fprintf(g.Stdout,
		"%.1f tokens/s written, %.1f with those read; KV cache: %d B a session at most, %d B at once\n",
		float64(g.written)/math.Max(took.Seconds(), 1e-9), speed, g.largest, g.most)
	if g.cache == nil {
		return
	}
	s := g.cache.Stats()
	fmt.Fprintf(g.Stdout, "weight cache: %.1f %% of %d requests hit, %d matrices of %d B kept, %d B at "+
		"most, %d evicted, %d too large\n", 100*float64(s.Hits)/float64(max(s.Hits+s.Misses, 1)),
		s.Hits+s.Misses, s.Entries, s.Bytes, s.Peak, s.Evictions, s.TooLarge)
}
