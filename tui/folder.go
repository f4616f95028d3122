package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gpumem/gpumem/tracer/record"
)

const (
	// followEvery is how often the files of a run that goes on are looked at.
	followEvery = 50 * time.Millisecond
	// freshFor is how lately a folder without an end must have been written to
	// count as going on.
	freshFor = 15 * time.Second
)

// FolderOptions say how a folder is read.
type FolderOptions struct {
	Feed FeedOptions
	// Follow takes the folder for one that is being written whatever it holds,
	// even before it is there.
	Follow bool
	// Since is when the run to follow began at the earliest: an older run.json
	// is of a run that is being replaced.
	Since time.Time
	// Speed of a playback at its start; 0 takes half a minute, real time at least.
	Speed float64
}

// Folder is a Feed that a goroutine fills from a run folder.
type Folder struct {
	*Feed
	path   string
	since  time.Time
	cancel context.CancelFunc
	done   sync.WaitGroup
	steer  *player // nil when followed
}

// OpenFolder reads a run folder: it follows one that is being written and plays
// back one that has ended, or a bare CSV. The error is for a path that holds no
// run. The caller closes the Folder.
func OpenFolder(path string, o FolderOptions) (*Folder, error) {
	o.Feed.Path = path
	if err := record.CheckMembers(path); err != nil {
		return nil, err
	}
	follow := o.Follow
	if !follow {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if info.IsDir() {
			if follow, err = goesOn(path, time.Now()); err != nil {
				return nil, err
			}
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	f := &Folder{Feed: NewFeed(o.Feed), path: path, since: o.Since, cancel: cancel}
	work := f.follow
	if !follow {
		f.steer = newPlayer(o.Speed)
		f.play = &Playback{Speed: o.Speed, Loading: true}
		work = f.playback
	}
	f.done.Go(func() { f.guard(ctx, work) })
	f.done.Go(func() { f.guard(ctx, func(ctx context.Context) { f.Judge(ctx) }) })
	return f, nil
}

// Player steers a playback, nil when the folder is followed.
func (f *Folder) Player() Player {
	if f.steer == nil {
		return nil
	}
	return f.steer
}

// Close ends the reading.
func (f *Folder) Close() error {
	f.cancel()
	f.done.Wait()
	return nil
}

// guard turns a panic of a goroutine into a fault on the screen: the terminal
// must not be left as it is by a defect in here.
func (f *Folder) guard(ctx context.Context, work func(context.Context)) {
	defer func() {
		if r := recover(); r != nil {
			f.Fault(fmt.Sprintf("the screen's reader broke: %v", r))
		}
	}()
	work(ctx)
}

// GoesOn reports whether a run folder is being written: it has no end, and rows came
// lately.
func GoesOn(dir string) bool {
	on, err := goesOn(dir, time.Now())
	return err == nil && on
}

// goesOn reports whether a folder is being written.
func goesOn(dir string, now time.Time) (bool, error) {
	meta, err := record.ReadMeta(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, nil // broken: record.Open says what of it can be read
	}
	if err == nil && meta.End != nil {
		return false, nil
	}
	fresh, found := false, err == nil
	for _, name := range [...]string{record.FileSamples, record.FileMeta, record.FileEvents} {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
			found = true
			fresh = fresh || now.Sub(info.ModTime()) < freshFor
		}
	}
	if !found {
		return false, fmt.Errorf("watch %s: %w", dir, record.ErrNotRun)
	}
	return fresh, nil
}

// follow reads what is added to the files until the run has ended.
func (f *Folder) follow(ctx context.Context) {
	files := record.Follow(f.path, f.since, record.Taker{
		Meta: f.SetMeta, Row: f.Row, Event: f.Event,
		Output: func(stderr bool, line []byte) { f.Output(stderr, string(line)) },
		Looked: func(err error) {
			if err != nil {
				f.Fault(err.Error())
			}
		},
	})
	defer files.Close()
	if files.Run(ctx, followEvery) {
		f.End()
	}
}
