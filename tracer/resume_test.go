//go:build unix

package tracer

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpumem/gpumem/tracer/record"
)

// rowsIn is how many rows a run folder has by now; 0 of one that is not there.
func rowsIn(dir string) int {
	run, err := record.Open(dir)
	if err != nil || run.Samples == nil {
		return 0
	}
	return run.Samples.Len()
}

func TestARecordingGoesOnInTheFolderThatItsTracerLeft(t *testing.T) {
	t.Parallel()
	start := func() *exec.Cmd {
		cmd := exec.Command("sleep", "60")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() }) //nolint:errcheck // it is ended at the latest here
		return cmd
	}
	program, other := start(), start()
	dir := filepath.Join(t.TempDir(), "run")
	attach := func(cmd *exec.Cmd, resume bool) (Result, error) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		go func() { // ends it after ten rows more, however slow the machine is
			for want := rowsIn(dir) + 10; ctx.Err() == nil && rowsIn(dir) < want; {
				time.Sleep(5 * time.Millisecond)
			}
			cancel()
		}()
		return Attach(ctx, cmd.Process.Pid, Config{Out: dir, Resume: resume, Interval: 5 * time.Millisecond,
			Keep: record.LeastKeep})
	}
	if _, err := attach(program, false); err != nil {
		t.Fatal(err)
	}
	first, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := attach(other, true); err == nil || !strings.Contains(err.Error(), "not of") {
		t.Errorf("the folder of another process: %v", err)
	}
	result, err := attach(program, true)
	if err != nil {
		t.Fatal(err)
	}
	run, err := record.Open(dir)
	if err != nil || len(run.Warnings) > 0 {
		t.Fatal(err, run.Warnings)
	}
	at, pid := run.Samples.Column(record.ColTime), run.Samples.Column(record.ColPID)
	before := first.Samples.Len()
	if len(at) < before+5 || !slices.IsSorted(at) || at[before] < at[before-1] || result.Meta.End == nil ||
		!run.Meta.Start.Equal(first.Meta.Start) || run.Meta.Sampling.Rows != int64(len(at)) {
		t.Errorf("%d rows, then %d, %+v", before, len(at), run.Meta)
	}
	if pid == nil || pid[len(pid)-1] != float64(program.Process.Pid) {
		t.Error("the later rows do not say whose they are")
	}
	if !slices.ContainsFunc(run.Events, func(e record.Event) bool { return e.Name == "recording resumed" }) {
		t.Error("the gap is not told")
	}
}
