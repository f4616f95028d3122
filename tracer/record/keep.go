package record

import (
	"errors"
	"io"
	"os"
	"slices"
	"sync/atomic"
	"time"
)

const (
	// DefaultKeep is what a run may take on disk where nobody says otherwise.
	DefaultKeep = 512 << 20
	// LeastKeep is the least that a run should be bounded to: of a program of one process
	// enough of the past is then left to judge it as the whole.
	LeastKeep = 16 << 20
	// thinnedSuffix ends the name of a file while it is written with less of its past.
	thinnedSuffix = ".thinned"
	// maxKeptMarks bounds the phases and receipts around which nothing is thinned: the
	// first and the last ones.
	maxKeptMarks = 4096
)

// keeper keeps the files of a run within a bound. A file that has reached its share
// is written anew with less of its past beside the old one, and then takes its place:
// so for a moment both must have room. The shares are what a report reads quickly.
type keeper struct {
	bound  int64
	rows   keptFile
	events keptFile
	marks  []int64 // of phases and receipts, in microseconds, ascending
}

// keptFile is a file that is thinned.
type keptFile struct {
	most int64 // bytes that it may have before it is thinned
	last int64 // the latest time in it, in microseconds
	// level and scarcity are those with which it was thinned last.
	level, scarcity int
	again           int64         // bytes that it must have before the next try
	version         int           // counts what else wrote it anew
	done            chan struct{} // closed when the thinning ends; nil while there is none
	stop            atomic.Bool
}

func newKeeper(bound int64) *keeper {
	bound = max(bound, 0)
	return &keeper{bound: bound, rows: keptFile{most: bound / 4}, events: keptFile{most: bound / 32}}
}

// mark notes an event around which nothing is thinned.
func (k *keeper) mark(e *Event) {
	if !staysAround(e) {
		return
	}
	if len(k.marks) >= maxKeptMarks {
		k.marks = slices.Delete(k.marks, maxKeptMarks/2, maxKeptMarks/2+1)
	}
	at := micros(e.TMs)
	i, _ := slices.BinarySearch(k.marks, at)
	k.marks = slices.Insert(k.marks, i, at)
}

// staysAround reports whether nothing is thinned around an event.
func staysAround(e *Event) bool { return e.Kind == KindPhase || e.Kind == KindReceipt }

// never is for what nobody stops.
func never() bool { return false }

// keepRows begins to thin samples.csv when it is time to. The lock is held.
func (w *Writer) keepRows(at time.Duration) {
	k := &w.keep.rows
	k.last = max(k.last, at.Microseconds())
	if !w.due(k, w.rows.good) {
		return
	}
	t := k.begin(w.rows.good)
	t.marks = slices.Clone(w.keep.marks)
	header := w.widerHeader()
	go w.thin(k, &w.rows, t, k.version, func(in *os.File, out io.Writer) error {
		t.in = in
		if err := t.plan(); err != nil {
			return err
		}
		return t.write(out, header)
	})
}

// keepEvents begins to thin events.jsonl when it is time to. The lock is held.
func (w *Writer) keepEvents(e *Event) {
	w.keep.mark(e)
	k := &w.keep.events
	k.last = max(k.last, micros(e.TMs))
	if !w.due(k, w.events.good) {
		return
	}
	t := k.begin(w.events.good)
	go w.thin(k, &w.events, t, k.version, func(in *os.File, out io.Writer) error {
		t.in = in
		return t.events(out)
	})
}

// due reports whether a file must be thinned now. Who writes waits only when the file
// grows faster than it can be thinned. The lock is held, and given up meanwhile.
func (w *Writer) due(k *keptFile, size int64) bool {
	if w.keep.bound == 0 || w.closed || size < max(k.most, k.again) {
		return false
	}
	if k.done != nil {
		if size > max(k.most, k.again)+k.most/2 {
			w.await(k)
		}
		return false
	}
	return true
}

// begin begins to thin a file of size bytes.
func (k *keptFile) begin(size int64) *thinner {
	k.done = make(chan struct{})
	k.stop.Store(false)
	return &thinner{size: size, room: k.most * 3 / 4, last: k.last, level: k.level, scarcity: k.scarcity,
		stop: k.stop.Load}
}

// await waits for the end of a thinning. The lock is held, and given up meanwhile.
func (w *Writer) await(k *keptFile) {
	done := k.done
	w.mu.Unlock()
	<-done
	w.mu.Lock()
}

// endThinning ends what is going on. The lock is held, and given up meanwhile.
func (w *Writer) endThinning() {
	for _, k := range [...]*keptFile{&w.keep.rows, &w.keep.events} {
		if k.done != nil {
			k.stop.Store(true)
			w.await(k)
		}
	}
}

// widerHeader is the header with ColThinned.
func (w *Writer) widerHeader() []byte {
	names := columns{names: slices.Clone(w.cols.names)}
	if _, ok := w.cols.index[ColThinned]; !ok {
		names.names = append(names.names, ColThinned)
	}
	return names.header()
}

// thin writes a file anew and puts it in the place of the old one.
func (w *Writer) thin(k *keptFile, file *lineFile, t *thinner, version int,
	write func(in *os.File, out io.Writer) error) {
	path := file.path + thinnedSuffix
	out, err := rewrite(file.path, path, write)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil && (w.closed || k.version != version) {
		err = errStopped // columns came: there is a wider file now
	}
	if err == nil {
		err = w.replace(k, file, t, out)
	}
	if out != nil {
		err = errors.Join(err, out.Close())
	}
	if err != nil {
		os.Remove(path)
	}
	k.again = file.good + k.most/16 // each try costs a copy
	close(k.done)
	k.done = nil
}

// rewrite has write make a new file out of an old one. The caller closes it.
func rewrite(from, to string, write func(in *os.File, out io.Writer) error) (*os.File, error) {
	in, err := os.Open(from)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, fileMode)
	if err != nil {
		return nil, err
	}
	return out, write(in, out)
}

// replace adds what was written meanwhile to the thinned file, and puts it in the place
// of the other. The lock is held.
func (w *Writer) replace(k *keptFile, file *lineFile, t *thinner, out *os.File) error {
	in, err := os.Open(file.path)
	if err != nil {
		return err
	}
	defer in.Close()
	rest := &thinner{in: in, size: file.good, roles: t.roles, header: t.header, stop: never}
	if err := rest.copy(out, t.size); err != nil {
		return err
	}
	size, err := out.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if err := errors.Join(file.close(), os.Rename(out.Name(), file.path)); err != nil {
		return err
	}
	file.good, file.torn = size, false
	k.level, k.scarcity = t.level, t.scarcity
	if k == &w.keep.events {
		w.stats.ThinnedEvents += t.dropped
		return nil
	}
	w.stats.ThinnedRows += t.dropped
	if t.roles.thinned < 0 {
		w.cols.add(ColThinned)
	}
	return nil
}
