//go:build unix

package tracer

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// counting is a source whose one column counts its polls.
type counting struct{ polls atomic.Int64 }

func (c *counting) Poll() error {
	if c.polls.Add(1) == 1 {
		return errors.New("the first poll fails")
	}
	return nil
}

func (c *counting) Cells(int) []record.Cell {
	return []record.Cell{{Column: "driver_allocs", Value: c.polls.Load()}}
}

func TestASourceOfCellsAddsColumnsToEachRow(t *testing.T) {
	t.Parallel()
	source := &counting{}
	cfg := childConfig(t, "work 100 500")
	cfg.Cells = source
	result, err := Run(context.Background(), cfg)
	if err != nil || result.ExitCode != 0 {
		t.Fatalf("exit code %d: %v", result.ExitCode, err)
	}
	run, err := record.Open(cfg.Out)
	if err != nil {
		t.Fatal(err)
	}
	column := run.Samples.Column("driver_allocs")
	known := 0
	for i, v := range column {
		if v != v { // unknown

			continue
		}
		if known++; i > 0 && v < column[i-1] {
			t.Errorf("row %d has %v after %v", i, v, column[i-1])
		}
	}
	if known < 2 {
		t.Errorf("%d rows have the column: %v", known, column)
	}
	if len(result.Warnings) != 1 {
		t.Errorf("one failed poll gave the warnings %q", result.Warnings)
	}
}
