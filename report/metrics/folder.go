package metrics

import (
	"context"
	"time"

	"github.com/gpumem/gpumem/tracer/record"
)

const (
	followEvery = 250 * time.Millisecond
	// staleMs is how long a process may have no row before it counts as ended.
	staleMs = 10_000
)

// Folder follows a run folder that is being written, for a Book.
type Folder struct {
	book  *Book
	files *record.Follower
	main  int // pid of the traced program
	last  float64
	named bool
}

// NewFolder follows the run in dir into a book. A run that began before since
// is one that is being replaced: its files are left alone.
func NewFolder(dir string, since time.Time, book *Book) *Folder {
	f := &Folder{book: book}
	f.files = record.Follow(dir, since,
		record.Taker{Meta: f.meta, Row: f.row, Event: book.Event, Looked: f.looked})
	return f
}

// Run follows until ctx is done or the run has ended. What is wrong with a file is
// left to those who read the finished folder.
func (f *Folder) Run(ctx context.Context) {
	defer f.files.Close()
	if f.files.Run(ctx, followEvery) {
		return
	}
	for more := true; more; { // what came last
		more, _ = f.files.Read()
	}
	f.looked(nil)
}

// meta takes run.json.
func (f *Folder) meta(m record.Meta) {
	f.main = m.PID
	f.book.SetMeta(m)
	if m.Workload != "" && m.PID != 0 && !f.named { // it runs in a child of ours
		f.named = true
		f.book.Name(m.PID, m.Workload)
	}
}

// row takes a row.
func (f *Folder) row(pid int, tMs float64, cells []record.Cell) {
	f.book.Row(pid, tMs, cells)
	f.last = max(f.last, tMs)
}

// looked drops the processes that have no rows any more.
func (f *Folder) looked(error) {
	f.book.Keep(func(pid int, lastMs float64) bool { return pid == f.main || f.last-lastMs < staleMs })
}
