package workloads

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/tracer/record"
	"github.com/gpumem/gpumem/workloads/llama"
	"github.com/gpumem/gpumem/workloads/tensor"
)

// generator is a running generate.
type generator struct {
	*program
	model                     *llama.Model
	cache                     *llama.WeightCache // nil without --weight-cache
	sites                     *sites             // nil outside of the targets
	sampler                   *llama.Sampler
	words                     *llama.Tokenizer // nil where the file has none
	chat                      *llama.Chat      // nil without --chat
	twin                      bool
	prompt                    []int // empty: one is made up for each request
	requests, tokens, context int

	sessions []*llama.Cache // that wait for a follow-up, oldest first
	kept     retained
	// In all: tokens read and written, requests answered.
	read, written, answered int
	// Bytes of the largest cache, and of those that existed at once.
	largest, most int64
	// For the targets: every token that was written, the most bytes that lived, and the
	// most references that a token left beyond one of each buffer.
	collect bool
	all     []int
	peak    int64
	left    int64
}

// shared is the references beyond one of each buffer that is live.
func (g *generator) shared() int64 {
	p := g.rt.Pool()
	if p == nil {
		return 0
	}
	s := p.Stats()
	return int64(s.Refs) - int64(s.Live.Count)
}

// retained is what the planted faults keep.
type retained struct {
	caches  []*llama.Cache
	logits  []*tensor.Tensor
	weights map[string]*tensor.Tensor
}

// sessionsKept wait for a follow-up; one in followUps requests is one.
const (
	sessionsKept = 4
	followUps    = 3
)

// answer is a request on its way.
type answer struct {
	number  int
	cache   *llama.Cache
	resumed bool  // the cache is that of an earlier request's session
	next    []int // to be read
	tokens  []int // written
}

// serve answers all requests, so many at the same time.
func (g *generator) serve(ctx context.Context) error {
	var open []*answer
	defer func() {
		for _, a := range open { // after an error
			_ = a.cache.Release()
		}
	}()
	for begun := 0; begun < g.requests || len(open) > 0; {
		for begun < g.requests && len(open) < g.number("at-once") {
			begun++
			a, err := g.begin(begun)
			if err != nil {
				return fmt.Errorf("request %d: %w", begun, err)
			}
			open = append(open, a)
			g.measure(open)
		}
		for _, a := range slices.Clone(open) {
			if err := ctx.Err(); err != nil {
				return err
			}
			done, err := g.advance(a)
			if err != nil {
				return fmt.Errorf("request %d: %w", a.number, err)
			}
			if done {
				open = slices.DeleteFunc(open, func(other *answer) bool { return other == a })
				if err := g.end(a); err != nil {
					return fmt.Errorf("request %d: %w", a.number, err)
				}
			}
		}
	}
	return nil
}

// begin opens a session for a request, or goes on with one.
func (g *generator) begin(number int) (*answer, error) {
	a := &answer{number: number, next: g.prompt}
	room := len(a.next) + g.tokens
	if len(a.next) == 0 {
		a.next = g.madeUp(number)
		room = min(g.context, 2*(len(a.next)+g.tokens)) // for a follow-up
		if a.cache = g.resume(len(a.next) + g.tokens); a.cache != nil {
			a.resumed = true
			return a, nil
		}
	}
	var err error
	a.cache, err = g.model.NewCache(room)
	return a, err
}

// madeUp is a prompt of any length. With the fault exact-sizes each is longer than the
// one before, as long as the context has room: a shorter one would find the buffers that
// a longer one has left.
func (g *generator) madeUp(number int) []int {
	prompt := make([]int, shortestPrompt+g.rng.IntN(longestPrompt-shortestPrompt+1))
	if g.Fault == "exact-sizes" {
		lengths := max(min(g.requests, g.context-g.tokens-shortestPrompt), 1)
		prompt = make([]int, shortestPrompt+number%lengths)
	}
	for i := range prompt {
		prompt[i] = g.rng.IntN(g.model.Vocab)
	}
	return prompt
}

// resume takes the newest session that has room, for one in so many requests.
func (g *generator) resume(tokens int) *llama.Cache {
	if g.rng.IntN(followUps) > 0 {
		return nil
	}
	for i, c := range slices.Backward(g.sessions) {
		if c.Room()-c.Used() >= tokens {
			g.sessions = slices.Delete(g.sessions, i, i+1)
			return c
		}
	}
	return nil
}

// measure notes what the caches take.
func (g *generator) measure(open []*answer) {
	at := int64(0)
	for _, c := range g.sessions {
		at += c.Bytes()
	}
	for _, a := range open {
		at += a.cache.Bytes()
		g.largest = max(g.largest, a.cache.Bytes())
	}
	g.most = max(g.most, at)
	if p := g.rt.Pool(); p != nil && p.Policy().Name == "tl" {
		p.LimitIdle(tlIdle(at))
	}
}

// tlIdle is how many idle buffers a class of the TL language's pool keeps beside a KV
// cache of so many bytes.
func tlIdle(cache int64) int { return int(max(32-4*(cache/(100<<20)), 4)) }

// advance reads what is to be read, and writes one token.
func (g *generator) advance(a *answer) (done bool, err error) {
	before := g.shared()
	err = g.rt.Scope(func() error {
		if err := g.sites.token(); err != nil {
			return err
		}
		before := a.cache.Used()
		row, err := g.model.Forward(a.next, a.cache)
		if err != nil {
			return err
		}
		g.peak = max(g.peak, g.rt.Stats().LiveBytes)
		for layer := range g.model.Blocks {
			g.printer.CacheSet(layer, before > 0, a.cache.Memory(),
				[]int{a.cache.Used(), g.model.CacheWidth()})
		}
		logits, err := row.Values()
		if err != nil {
			return err
		}
		g.read += len(a.next)
		a.next = []int{g.sampler.Pick(logits)}
		a.tokens = append(a.tokens, a.next[0])
		return g.settle(a, row)
	})
	g.written++
	if g.collect {
		g.all = append(g.all, a.next...)
		g.left = max(g.left, g.shared()-before)
	}
	g.client.Mark(record.KindScope, fmt.Sprintf("request %d, token %d", a.number, len(a.tokens)), "")
	if err != nil {
		return false, err
	}
	ended := g.words != nil && g.words.Ends(a.next[0])
	if !ended && g.streams() {
		_, err = g.Stdout.Write(g.text(a.next))
	}
	return ended || len(a.tokens) == g.tokens, err
}

// streams reports that answers are printed while they are written, which
// several at the same time would mix up.
func (g *generator) streams() bool {
	return g.words != nil && (g.talks() || g.requests <= 2*shownRequests && g.number("at-once") == 1)
}

// settle gives the logits up; the faults of a token keep them, or a copy of the
// cache.
func (g *generator) settle(a *answer, row *tensor.Tensor) error {
	switch g.Fault {
	case "retained-logits":
		g.kept.logits = append(g.kept.logits, row.KeepIn("list generate.logits"))
		return nil
	case "two-at-once":
		// One copy of each session, so that neither leak hides the other.
		if !a.resumed && len(a.tokens) == 1 {
			return errors.Join(g.snapshot(a), row.Release())
		}
	case "kv-clone":
		if err := g.snapshot(a); err != nil {
			return err
		}
	}
	return row.Release()
}

// snapshot keeps a copy of an answer's cache.
func (g *generator) snapshot(a *answer) error {
	c, err := a.cache.Clone()
	if err != nil {
		return err
	}
	c.KeptIn("list generate.snapshots")
	g.kept.caches = append(g.kept.caches, c)
	return nil
}

// end prints the answer and lets its session wait, until newer ones do.
func (g *generator) end(a *answer) (err error) {
	switch {
	case g.streams():
		fmt.Fprintln(g.Stdout)
	case g.requests <= 2*shownRequests || a.number <= shownRequests:
		fmt.Fprintf(g.Stdout, "request %d: %s\n", a.number, g.text(a.tokens))
	}
	defer g.tick()
	g.answered++
	if g.Fault == "kv-not-released" {
		a.cache.KeptIn("list generate.finished")
		g.kept.caches = append(g.kept.caches, a.cache)
		return nil
	}
	a.cache.KeptIn("list generate.sessions")
	g.sessions = append(g.sessions, a.cache)
	for len(g.sessions) > sessionsKept && !g.keepsSessions() {
		err = errors.Join(err, g.sessions[0].Release())
		g.sessions = g.sessions[1:]
	}
	return err
}

// keepsSessions reports that sessions stay open for ever.
func (g *generator) keepsSessions() bool {
	return g.Fault == "sessions-never-expired" || g.Fault == "two-at-once"
}

// text is tokens as text, or as their numbers where no tokenizer knows them.
func (g *generator) text(tokens []int) (p []byte) {
	if g.words == nil {
		return []byte(strings.Trim(fmt.Sprint(tokens), "[]"))
	}
	for _, token := range tokens {
		p = append(p, g.words.Decode(token)...)
	}
	return p
}

// keepWeights is the fault weight-cache: the key has the request in it.
func (g *generator) keepWeights(name string, decode func() (*tensor.Tensor, error)) (*tensor.Tensor, error) {
	if !strings.HasPrefix(name, "blk.") {
		return decode()
	}
	key := fmt.Sprintf("%s of request %d", name, g.step.Load())
	if t := g.kept.weights[key]; t != nil {
		return t, nil
	}
	t, err := decode()
	if err != nil {
		return nil, err
	}
	if g.kept.weights == nil {
		g.kept.weights = map[string]*tensor.Tensor{}
	}
	g.kept.weights[key] = t.KeepIn("map generate.weight_cache")
	return t, nil
}

// close gives up what a healthy program holds.
func (g *generator) close() (failed error) {
	if !g.keepsSessions() {
		for _, c := range g.sessions {
			failed = errors.Join(failed, c.Release())
		}
	}
	if g.cache != nil {
		failed = errors.Join(failed, g.cache.Release())
	}
	return errors.Join(failed, g.model.Release())
}
