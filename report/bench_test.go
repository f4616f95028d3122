package report

import (
	"fmt"
	"io"
	"testing"

	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// longRun is leakRun with as many columns as a full run has.
func longRun(rows, columns int) *record.Run {
	run := leakRun(rows)
	names := append([]string(nil), run.Samples.Names()...)
	var cols [][]float64
	for _, n := range names {
		cols = append(cols, run.Samples.Column(n))
	}
	for i := len(names); i < columns; i++ {
		names, cols = append(names, fmt.Sprintf("carried_%d", i)), append(cols, cols[i%10])
	}
	run.Samples = record.NewSamples(names, cols)
	return run
}

func BenchmarkHTMLOfAMillionRows(b *testing.B) {
	run, v := longRun(1_000_000, 20), leakVerdict()
	v.Window.ToMs = 50_000_000
	b.ReportAllocs()
	var n int64
	for b.Loop() {
		w := &counter{}
		if err := Write(w, HTML, run, v, Options{}); err != nil {
			b.Fatal(err)
		}
		n = w.n
	}
	b.ReportMetric(float64(n), "page_bytes")
}

func BenchmarkTextOfAMillionRows(b *testing.B) {
	run, v := longRun(1_000_000, 20), leakVerdict()
	for b.Loop() {
		if err := Write(io.Discard, Text, run, v, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) { c.n += int64(len(p)); return len(p), nil }

func TestThePageOfAMillionRowsFitsAMebibyte(t *testing.T) {
	t.Parallel()
	run, v := longRun(1_000_000, 20), leakVerdict()
	v.Window.ToMs = 50_000_000
	w := &counter{}
	if err := Write(w, HTML, run, v, Options{}); err != nil {
		t.Fatal(err)
	}
	if w.n > 1<<20 {
		t.Errorf("%d bytes", w.n)
	}
}

// TestPagesOfManyLinesFitAMebibyte: what a page costs is by line and not by
// sample, so that the most lines make the largest page.
func TestPagesOfManyLinesFitAMebibyte(t *testing.T) {
	t.Parallel()
	run, v := longRun(80_000, 20), leakVerdict()
	pid := make([]float64, run.Samples.Len())
	for i := range pid {
		pid[i] = float64(100 + i%16)
	}
	names, cols := []string{record.ColPID}, [][]float64{pid}
	for _, n := range run.Samples.Names() {
		names, cols = append(names, n), append(cols, run.Samples.Column(n))
	}
	run.Samples = record.NewSamples(names, cols)
	v.PID = 100
	for k := range 16 {
		v.Processes = append(v.Processes, verdict.ProcessRow{PID: 100 + k, Verdict: verdict.AppLeak})
	}
	if n := len(render(t, HTML, run, v, Options{})); n > 1<<20 {
		t.Errorf("%d bytes with 16 processes", n)
	}
	base, new := Side{"a", longRun(60_000, 10)}, Side{"b", longRun(60_000, 10)}
	w := &counter{}
	if err := WriteDiff(w, HTML, base, new, verdict.Diff(base.Run, new.Run, verdict.Options{}), Options{}); err != nil {
		t.Fatal(err)
	}
	if w.n > 1<<20 {
		t.Errorf("%d bytes of difference", w.n)
	}
}
