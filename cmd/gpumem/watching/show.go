package watching

import (
	"context"
	"errors"
	"fmt"

	"github.com/gpumem/gpumem/cmd/gpumem/screen"
	"github.com/gpumem/gpumem/tui"
)

// Unseen watches without a screen, for the metrics, until ctx is done.
func Unseen(ctx context.Context, o Options) error {
	b := newBook(o.Err, o.Judging)
	w, err := newWatcher(ctx, &o, b, nil)
	if err != nil {
		return err
	}
	defer w.close()
	p, err := b.publish(&o, w)
	if err != nil {
		return err
	}
	w.run(ctx)
	return p.End()
}

// Screen watches on the live screen, until the user leaves it or ctx is done, and
// publishes metrics beside it if they are asked for.
func Screen(ctx context.Context, o Options, looks tui.Appearance) error {
	feed := tui.NewFeed(tui.FeedOptions{Name: "watch", Judging: o.Judging, State: tui.Watching,
		Usage: screen.OwnUsage})
	all := takers{screenRows{feed}}
	var published *book
	if o.Metrics.On() {
		published = newBook(o.Err, o.Judging)
		all = append(all, published)
	}
	w, err := newWatcher(ctx, &o, all, feed)
	if err != nil {
		return err
	}
	defer w.close()
	if published != nil {
		p, err := published.publish(&o, w)
		if err != nil {
			return err
		}
		defer p.End() //nolint:errcheck // the screen's end is what counts
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	works := [...]func(context.Context){w.run, w.machine.run, feed.Judge}
	failed := make(chan error, len(works))
	for _, work := range works {
		go func() { failed <- guard(ctx, feed, work) }()
	}
	err = screen.Run(ctx, tui.Options{
		Source: feed, Looks: looks, Processes: len(o.PIDs) != 1, Greeting: o.Greeting,
		Control: tui.Control{Save: screen.Saver("."), Terminate: w.machine.terminate},
	}, o.In, o.Out, "")
	cancel()
	for range works {
		err = errors.Join(err, <-failed)
	}
	return err
}

// guard turns a panic into a word on the screen and an error, so that the
// terminal is given back.
func guard(ctx context.Context, feed *tui.Feed, work func(context.Context)) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("watching failed: %v", r)
			feed.Fault(err.Error())
		}
	}()
	work(ctx)
	return nil
}
