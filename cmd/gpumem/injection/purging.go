package injection

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"

	"github.com/gpumem/gpumem/cmd/gpumem/option"
	"github.com/gpumem/gpumem/cmd/gpumem/usage"
	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/tracer"
	"github.com/gpumem/gpumem/tracer/agent"
	"github.com/gpumem/gpumem/tracer/record"
)

// Purging is when a program that runs is asked to empty its pools.
type Purging struct {
	every time.Duration // 0 never
	when  string        // "idle > SIZE", empty never
	above int64         // the SIZE, -1 for none
}

const (
	// leastPurge is the shortest time between two purges: each is measured, and
	// what is measured has to come to rest.
	leastPurge = 2 * time.Second
	// againPurge is how long idle memory may stay above its bound after a purge that
	// left it there: what gave little back is not repeated at once.
	againPurge = 30 * time.Second
	// lookPurge is how often the condition is looked at.
	lookPurge = 100 * time.Millisecond
)

// Add defines the flags.
func (p *Purging) Add(flags *pflag.FlagSet) {
	flags.DurationVar(&p.every, "purge-every", p.every,
		"have the program purge its idle memory at this interval, with a receipt each time")
	flags.StringVar(&p.when, "purge-when", p.when,
		"have the program purge whenever 'idle > SIZE', as in 'idle > 2GiB', with a receipt each time")
}

// Check reads the condition.
func (p *Purging) Check() error {
	p.above = -1
	if p.every != 0 && p.every < leastPurge {
		return usage.Errorf("--purge-every %s: must be %s or more", p.every, leastPurge)
	}
	if p.when == "" {
		return nil
	}
	what, size, found := strings.Cut(p.when, ">")
	if strings.TrimSpace(what) != "idle" || !found {
		return usage.Errorf("--purge-when %q: must be 'idle > SIZE', as in 'idle > 2GiB'", p.when)
	}
	bytes, err := option.ParseSize(size)
	if err != nil {
		return usage.Errorf("--purge-when %q: %v", p.when, err)
	}
	p.above = bytes
	return nil
}

// Run is [tracer.Run] with the purges. Why nothing could be purged is a warning of
// the run.
func (p Purging) Run(ctx context.Context, cfg tracer.Config) (tracer.Result, error) {
	if p.on() {
		p.into(&cfg)
	}
	return tracer.Run(ctx, cfg)
}

// Attach is [tracer.Attach] with the purges, as Run.
func (p Purging) Attach(ctx context.Context, pid int, cfg tracer.Config) (tracer.Result, error) {
	if p.on() {
		p.into(&cfg)
	}
	return tracer.Attach(ctx, pid, cfg)
}

// on reports that something was asked for; check has read it.
func (p Purging) on() bool { return p.every > 0 || p.above >= 0 }

// into adds the purges to a run. The live screen, if there is one, has set its own
// control and progress by now.
func (p Purging) into(cfg *tracer.Config) {
	if cfg.Control == nil {
		cfg.Control = &tracer.Control{}
	}
	control := cfg.Control
	var idle atomic.Int64
	idle.Store(-1)
	show := cfg.Progress
	cfg.Progress = func(s tracer.Progress) {
		for _, c := range s.Row.Cells {
			if c.Column == record.ColIdle {
				idle.Store(c.Value)
			}
		}
		if show != nil {
			show(s)
		}
	}
	cfg.Watch = append(cfg.Watch, func(ctx context.Context, _ int, emit func(record.Event)) {
		w := purgeWatch{Purging: p, idle: idle.Load, emit: emit,
			offered: func() bool { return slices.Contains(control.Actions(), agent.ActionPurge) },
			purge:   func() (*record.Receipt, error) { return control.Ask(agent.ActionPurge) }}
		w.run(ctx)
	})
}

// purgeWatch purges one program while it runs.
type purgeWatch struct {
	Purging
	idle    func() int64
	offered func() bool
	purge   func() (*record.Receipt, error)
	emit    func(record.Event)

	last time.Time // of a purge, or of the start
	rest time.Time // until which the condition is not looked at
	told bool      // what stands in the way was said
	done bool      // there was a purge
	want bool      // one was due that nobody offered
}

// run purges until the program ends. An agent may come late, as its framework is
// imported late: only at the end is it sure that none did.
func (w *purgeWatch) run(ctx context.Context) {
	look := time.NewTicker(lookPurge)
	defer look.Stop()
	for w.last = time.Now(); ; {
		select {
		case <-ctx.Done():
			if w.want && !w.done {
				w.warn(tracer.ErrNotOffered)
			}
			return
		case <-look.C:
			w.look(ctx)
		}
	}
}

// look purges if it is time to.
func (w *purgeWatch) look(ctx context.Context) {
	kept := w.idle()
	why := w.due(time.Since(w.last), time.Until(w.rest), kept)
	if why == "" {
		return
	}
	if !w.offered() {
		w.want = true
		return
	}
	w.emit(record.Event{Kind: record.KindEvent, Name: "purge", Text: why})
	receipt, err := w.purge()
	w.last = time.Now()
	w.rest = w.last.Add(w.pause(kept, receipt))
	w.done = w.done || err == nil
	if err != nil && ctx.Err() == nil {
		w.warn(err)
	}
}

// warn says once why nothing was purged.
func (w *purgeWatch) warn(err error) {
	if !w.told {
		w.told = true
		w.emit(record.Event{Kind: record.KindWarning, Text: notPurged(err)})
	}
}

// due is why a purge is due, empty when none is: so long ago was the last one, and so
// long the condition still rests. Unknown idle memory is -1.
func (p Purging) due(since, rest time.Duration, idle int64) string {
	switch {
	case p.every > 0 && since >= p.every:
		return fmt.Sprintf("every %s", p.every)
	case p.above >= 0 && idle > p.above && rest <= 0:
		return fmt.Sprintf("idle memory is %s, above %s", units.Bytes(idle), units.Bytes(p.above))
	}
	return ""
}

// pause is how long the condition rests after a purge: a long one where it freed too
// little of what was idle to help.
func (p Purging) pause(idle int64, receipt *record.Receipt) time.Duration {
	if receipt != nil && receipt.ClaimedBytes != nil && idle-*receipt.ClaimedBytes <= p.above {
		return leastPurge
	}
	return againPurge
}

// notPurged says why a purge did not come about, and what would help.
func notPurged(err error) string {
	if errors.Is(err, tracer.ErrNotOffered) {
		return "--purge-every or --purge-when: the program has nothing to purge by: " +
			"no agent in it offers a purge; programs with PyTorch, JAX, CuPy or MLX and the bundled workloads do"
	}
	return "--purge-every or --purge-when: " + err.Error()
}
