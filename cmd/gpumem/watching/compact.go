package watching

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/tracer/record"
)

// staleCompact is how far behind the newest row of a run a process may be before it
// counts as ended, in milliseconds.
const staleCompact = 10_000

// addKnown adds what is known to a sum, which is nil as long as nothing is.
func addKnown(sum *int64, v int64) *int64 {
	if sum != nil {
		v += *sum
	}
	return &v
}

// compactRows prints a line a round of processes that are looked at from outside.
type compactRows struct {
	lineRows
	out    io.Writer
	number int
}

// Round prints the sample: the processes' memory on devices, or what is used of the
// devices where no driver tells it by process.
func (r *compactRows) Round() {
	var bytes, buffers *int64
	for _, p := range r.next.Processes {
		if v, known := p.Sample[record.ColGPU]; known {
			bytes = addKnown(bytes, v)
		}
		if v, known := p.Sample[record.ColLiveCount]; known {
			buffers = addKnown(buffers, v)
		}
	}
	if bytes == nil {
		for _, d := range r.devices() {
			if d.UsedBytes != probe.Unknown {
				bytes = addKnown(bytes, d.UsedBytes)
			}
		}
	}
	r.next = Sample{}
	r.number++
	_, err := io.WriteString(r.out, plain.CompactLine(r.number, bytes, buffers))
	r.err = errors.Join(r.err, err)
	if r.left--; r.left == 0 || r.err != nil {
		r.end()
	}
}

// Compact prints a short line a sample of the processes: their memory on devices and
// their live buffers. It ends with ctx, or after so many samples (0: never).
func Compact(ctx context.Context, o Options, samples int) error {
	rows := &compactRows{out: o.Out, lineRows: lineRows{left: samples, names: map[int]string{}}}
	return rows.watch(ctx, o, rows)
}

// CompactFolder is [Compact] of a run that is written or was: it follows its folder until
// the run has ended, or for some samples.
func CompactFolder(ctx context.Context, to io.Writer, path string, every time.Duration, samples int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l := latest{rows: map[int]latestRow{}}
	number := 0
	var failed error
	files := record.Follow(path, time.Time{}, record.Taker{
		Row: l.take,
		Looked: func(error) {
			if !l.fresh {
				return
			}
			bytes, buffers := l.sum()
			number++
			_, wrote := io.WriteString(to, plain.CompactLine(number, bytes, buffers))
			if failed = errors.Join(failed, wrote); failed != nil || number == samples {
				cancel()
			}
		},
	})
	defer files.Close()
	files.Run(ctx, every)
	return failed
}

// latest has the newest row of each process of a run.
type latest struct {
	rows   map[int]latestRow
	newest float64 // milliseconds
	fresh  bool    // a row came since the last sum
}

// latestRow is what is known of a process; nil is unknown.
type latestRow struct {
	at             float64
	bytes, buffers *int64
}

func (l *latest) take(pid int, tMs float64, cells []record.Cell) {
	row := latestRow{at: tMs}
	for _, c := range cells {
		switch v := c.Value; c.Column {
		case record.ColGPU:
			row.bytes = &v
		case record.ColLiveCount:
			row.buffers = &v
		}
	}
	l.rows[pid], l.newest, l.fresh = row, max(l.newest, tMs), true
}

// sum adds the processes up, those left out that have had no row for long.
func (l *latest) sum() (bytes, buffers *int64) {
	l.fresh = false
	for pid, row := range l.rows {
		if row.at < l.newest-staleCompact {
			delete(l.rows, pid)
			continue
		}
		if row.bytes != nil {
			bytes = addKnown(bytes, *row.bytes)
		}
		if row.buffers != nil {
			buffers = addKnown(buffers, *row.buffers)
		}
	}
	return bytes, buffers
}
