package metrics

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/gpumem/gpumem/tracer/record"
)

// eventually waits until ok.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not come", what)
		}
	}
}

func TestAFolderIsFollowedOverNewColumnsAndProcesses(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	book := NewBook(BookOptions{})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	began := time.Now()
	go func() {
		defer close(done)
		NewFolder(dir, began, book).Run(ctx)
	}()
	w, err := record.Create(dir, record.Meta{PID: 10, Start: time.Now(), IntervalMs: 10, Workload: "nqueens"},
		record.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	write := func(cells ...record.Cell) {
		t.Helper()
		if err := w.Sample(record.Row{T: time.Duration(rows) * 10 * time.Millisecond, Cells: cells}); err != nil {
			t.Fatal(err)
		}
		rows++
	}
	for range 100 {
		write(record.Cell{Column: record.ColRSS, Value: int64(rows)})
	}
	eventually(t, "the first rows", func() bool { return book.Sampling().Samples == 100 })
	for range 100 { // the file is replaced for a new column
		write(record.Cell{Column: record.ColRSS, Value: int64(rows)}, record.Cell{Column: record.ColLive, Value: 7})
	}
	for range 100 { // and for another process
		write(record.Cell{Column: record.ColPID, Value: 10}, record.Cell{Column: record.ColRSS, Value: int64(rows)})
		write(record.Cell{Column: record.ColPID, Value: 11}, record.Cell{Column: record.ColRSS, Value: 5})
	}
	if err := w.Event(record.Event{Kind: record.KindPhase, Name: record.PhaseBaseline, TMs: 1}); err != nil {
		t.Fatal(err)
	}
	stop() // what was written before is read nevertheless
	<-done
	if s := book.Sampling(); s.Samples != 400 {
		t.Errorf("%d rows were taken, want each of 400 once", s.Samples)
	}
	if p := of(t, book, 10); p.Name != "nqueens" || p.size() != 7 && p.size() != int64(rows-2) {
		t.Errorf("the main process is %+v", p)
	}
	if p := of(t, book, 11); p.size() != 5 {
		t.Errorf("the other process is %+v", p)
	}
	book.mu.Lock()
	defer book.mu.Unlock()
	if events := book.live.Run(book.live.Of(10)).Events; len(events) != 1 || events[0].Name != record.PhaseBaseline {
		t.Errorf("the events are %+v", events)
	}
}

func TestTheRunThatIsBeingReplacedIsNotTaken(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	w, err := record.Create(dir, record.Meta{PID: 10, Start: time.Now().Add(-time.Hour)}, record.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Sample(record.Row{Cells: []record.Cell{{Column: record.ColRSS, Value: 1}}}); err != nil {
		t.Fatal(err)
	}
	book := NewBook(BookOptions{})
	ctx, stop := context.WithCancel(context.Background())
	stop()
	NewFolder(dir, time.Now(), book).Run(ctx)
	if s := book.Sampling(); s.Samples != 0 {
		t.Errorf("%d rows of the old run were taken", s.Samples)
	}
}

func TestThatMemoryIsUnifiedIsTakenOverWhenItBecomesKnown(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	w, err := record.Create(dir, record.Meta{PID: 10, Start: time.Now()}, record.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	row := record.Row{Cells: []record.Cell{{Column: record.ColGPU, Value: 100},
		{Column: record.ColFootprint, Value: 130}}}
	if err := w.Sample(row); err != nil {
		t.Fatal(err)
	}
	book := NewBook(BookOptions{})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		NewFolder(dir, time.Time{}, book).Run(ctx)
	}()
	bytes := func() (sum int64) {
		for _, p := range book.Processes() {
			sum += p.size()
		}
		return sum
	}
	eventually(t, "the row", func() bool { return bytes() == 230 })
	yes := true
	if err := w.UpdateMeta(func(m *record.Meta) { m.UnifiedMemory = &yes }); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the host's part alone", func() bool { return bytes() == 130 })
	stop()
	<-done
}
