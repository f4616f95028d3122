package report

import (
	"fmt"
	"io"
	"testing"

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
