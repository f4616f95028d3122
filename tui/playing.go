package tui

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/gpumem/gpumem/tracer/record"
)

const (
	// playEvery is how often a playback adds the rows that are due.
	playEvery = 50 * time.Millisecond
	// playChunk is how many rows are added while the lock is held: a key waits
	// for one chunk at most.
	playChunk = 2000
	slowest   = 1. / 16
	fastest   = 4096.
	// playMs is how long a playback takes when nobody says how fast.
	playMs = 30e3
)

// player is what a person wants of a playback.
type player struct {
	mu    sync.Mutex
	speed float64
	auto  bool    // nobody said how fast
	seek  float64 // NaN when nothing is sought
	wake  chan struct{}
}

func newPlayer(speed float64) *player {
	return &player{speed: speed, auto: speed == 0, seek: math.NaN(), wake: make(chan struct{}, 1)}
}

// SetSpeed implements Player.
func (p *player) SetSpeed(x float64) {
	if x != 0 {
		x = math.Min(math.Max(x, slowest), fastest)
	}
	p.mu.Lock()
	p.speed, p.auto = x, false
	p.mu.Unlock()
	p.poke()
}

// Seek implements Player.
func (p *player) Seek(ms float64) {
	p.mu.Lock()
	p.seek = ms
	p.mu.Unlock()
	p.poke()
}

// start picks the speed, unless it is set already.
func (p *player) start(lengthMs float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.auto {
		p.auto = false
		p.speed = math.Min(math.Max(math.Round(lengthMs/playMs), 1), fastest)
	}
}

func (p *player) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *player) take() (speed, seek float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	seek, p.seek = p.seek, math.NaN()
	return p.speed, seek
}

// reel is a loaded run on its way to the feed.
type reel struct {
	feed    *Feed
	run     *record.Run
	times   []float64
	pids    []float64
	columns []string
	values  [][]float64
	row     int
	event   int
	output  []OutputLine
	length  float64
	cells   []record.Cell
}

func newReel(f *Feed, run *record.Run) *reel {
	r := &reel{feed: f, run: run, times: run.Samples.Column(record.ColTime),
		pids: run.Samples.Column(record.ColPID)}
	for _, name := range run.Samples.Names() {
		if name != record.ColTime && name != record.ColPID {
			r.columns, r.values = append(r.columns, name), append(r.values, run.Samples.Column(name))
		}
	}
	if r.times == nil { // a CSV without a time: a row a second
		r.times = make([]float64, run.Samples.Len())
		for i := range r.times {
			r.times[i] = float64(i) * 1000
		}
	}
	for _, t := range r.times {
		if known(t) && t > r.length {
			r.length = t
		}
	}
	for _, e := range run.Events {
		r.length = math.Max(r.length, e.TMs)
	}
	return r
}

// playback loads a run and plays it.
func (f *Folder) playback(ctx context.Context) {
	run, err := record.Open(f.path)
	if err != nil {
		f.Fault(err.Error())
		f.End()
		return
	}
	r := newReel(f.Feed, run)
	r.output = readOutput(f.path)
	f.SetMeta(run.Meta)
	f.begin(r)
	f.steer.start(r.length)
	at, last := 0.0, time.Now()
	ticker := time.NewTicker(playEvery)
	defer ticker.Stop()
	for {
		speed, seek := f.steer.take()
		now := time.Now()
		at += now.Sub(last).Seconds() * 1000 * speed
		last = now
		if known(seek) {
			if seek < at {
				f.begin(r)
			}
			at = seek
		}
		at = math.Min(math.Max(at, 0), r.length)
		if !r.until(ctx, at) {
			return
		}
		f.stand(speed, at, r.length)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-f.steer.wake:
		}
	}
}

// begin goes back to the start.
func (f *Folder) begin(r *reel) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reset()
	for _, w := range r.run.Warnings {
		f.event(record.Event{Kind: record.KindWarning, Text: warningText(w)})
	}
	r.row, r.event = 0, 0
}

func warningText(w record.Warning) string {
	if w.Line > 0 {
		return fmt.Sprintf("%s, line %d: %s", w.File, w.Line, w.Text)
	}
	return w.File + ": " + w.Text
}

// stand shows where the playback is.
func (f *Folder) stand(speed, at, length float64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.play = &Playback{Speed: speed, LengthMs: length}
	if f.elapsed != at {
		f.elapsed, f.news = at, f.news+1
	}
	ended := at >= length
	if ended != f.ended {
		f.due()
	}
	f.setEnded(ended)
}

// until adds the rows up to a time and reports false when ctx is done.
func (r *reel) until(ctx context.Context, at float64) bool {
	for ctx.Err() == nil {
		if r.some(at) {
			if at >= r.length {
				r.printed()
			}
			return true
		}
	}
	return false
}

// some adds one chunk and reports whether all is there.
func (r *reel) some(at float64) bool {
	f := r.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	for range playChunk {
		rowAt, eventAt := math.Inf(1), math.Inf(1)
		if r.row < len(r.times) {
			rowAt = r.times[r.row]
		}
		if r.event < len(r.run.Events) {
			eventAt = r.run.Events[r.event].TMs
		}
		switch {
		case r.row < len(r.times) && !known(rowAt):
			r.row++
		case eventAt <= at && eventAt <= rowAt:
			f.event(r.run.Events[r.event])
			r.event++
		case rowAt <= at:
			r.add()
		default:
			return true
		}
	}
	return false
}

// add gives the feed one row. The lock is held.
func (r *reel) add() {
	i := r.row
	r.row++
	r.cells = r.cells[:0]
	for k, v := range r.values {
		if known(v[i]) {
			r.cells = append(r.cells, record.Cell{Column: r.columns[k], Value: int64(v[i])})
		}
	}
	pid := 0
	if r.pids != nil && known(r.pids[i]) {
		pid = int(r.pids[i])
	}
	r.feed.row(pid, r.times[i], r.cells)
}

// printed shows what the program wrote; when it wrote is not recorded, so it
// comes at the end. The lock is held by none.
func (r *reel) printed() {
	lines := r.output
	r.output = nil
	for _, l := range lines {
		r.feed.Output(l.Err, l.Text)
	}
}

// readOutput reads the last lines of what the program wrote.
func readOutput(dir string) []OutputLine {
	var out []OutputLine
	for _, name := range [...]string{record.FileStdout, record.FileStderr} {
		data, err := readTail(dir, name, 64<<10)
		if err != nil {
			continue // it was not captured
		}
		text := strings.TrimSuffix(string(data), "\n")
		if text == "" {
			continue
		}
		for _, l := range strings.Split(text, "\n") {
			out = append(out, OutputLine{Err: name == record.FileStderr, Text: l})
		}
	}
	return out
}

// readTail reads the last most bytes of a file of a run folder.
func readTail(dir, name string, most int64) ([]byte, error) {
	file, err := record.OpenMember(dir, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	data := make([]byte, min(info.Size(), most))
	n, err := file.ReadAt(data, info.Size()-int64(len(data)))
	if n < len(data) {
		return nil, err
	}
	return data, nil
}
