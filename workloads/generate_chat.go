package workloads

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gpumem/gpumem/workloads/llama"
)

// A line of a chat has so many bytes at most.
const maxLine = 1 << 20

// line is what a person said, or why nothing more comes.
type line struct {
	text string
	err  error
}

// said reads lines until they end. Its goroutine may stay in a read when ctx
// ends: the process ends with it.
func (g *generator) said(ctx context.Context) <-chan line {
	lines := make(chan line)
	send := func(l line) bool {
		select {
		case lines <- l:
			return true
		case <-ctx.Done():
			return false
		}
	}
	go func() {
		defer close(lines)
		if g.Stdin == nil {
			return
		}
		in := bufio.NewScanner(g.Stdin)
		in.Buffer(nil, maxLine)
		for in.Scan() {
			if text := strings.TrimSpace(in.Text()); text != "" && !send(line{text: text}) {
				return
			}
		}
		if err := in.Err(); err != nil {
			send(line{err: fmt.Errorf("read what you say: %w", err)})
		}
	}()
	return lines
}

// converse answers each line that comes, in one session.
func (g *generator) converse(ctx context.Context) (err error) {
	cache, err := g.model.NewCache(g.context)
	if err != nil {
		return err
	}
	a := &answer{cache: cache}
	g.measure([]*answer{a})
	defer func() { err = errors.Join(err, cache.Release()) }()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	lines := g.said(ctx)
	for {
		if isTerminal(g.Stderr) {
			fmt.Fprint(g.Stderr, "> ")
		}
		var said line
		var more bool
		select {
		case said, more = <-lines:
		case <-ctx.Done():
			return ctx.Err()
		}
		if said.err != nil {
			return said.err
		}
		if !more {
			return g.heard()
		}
		if err := g.reply(ctx, a, said.text); err != nil {
			return err
		}
	}
}

// heard is an error when nobody has said anything.
func (g *generator) heard() error {
	if g.answered == 0 {
		return errors.New(
			"--chat: the standard input was empty; on a terminal give --no-tui, or a --prompt")
	}
	return nil
}

// reply answers what was said. The last token of the answer before was not read
// yet: it comes first.
func (g *generator) reply(ctx context.Context, a *answer, text string) error {
	turn, err := g.chat.Turn(text, a.number == 0)
	if err != nil {
		return err
	}
	a.next, a.tokens = append(a.next, turn...), nil
	a.number++
	if a.cache.Used()+len(a.next) >= a.cache.Room() {
		return fmt.Errorf(
			"the conversation does not fit in %d positions: begin a new one, or give a larger --context",
			a.cache.Room())
	}
	for done := false; !done && a.cache.Used()+len(a.next) <= a.cache.Room(); {
		if err := ctx.Err(); err != nil {
			return err
		}
		if done, err = g.advance(a); err != nil {
			return err
		}
	}
	fmt.Fprintln(g.Stdout)
	g.answered++
	g.tick()
	return nil
}

// readChat finds the template, and makes a turn of --prompt.
func (g *generator) readChat(chat *llama.Chat, text string) (err error) {
	if len(g.prompt) > 0 {
		return errors.New(
			"--chat takes text: give --prompt instead of --prompt-tokens, or say it on the standard input")
	}
	g.chat = chat
	if text != "" {
		g.prompt, err = chat.Turn(text, true)
	}
	return err
}
