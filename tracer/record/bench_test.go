package record

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// bigCSV is rows × 20 columns of plausible sizes.
func bigCSV(rows int) []byte {
	names := []string{ColTime, ColStep, ColRSS, ColRSSAnon, ColRSSFile, ColRSSShmem, ColSwap, ColFootprint,
		ColHostHeap, ColGPU,
		ColLive, ColIdle, ColLiveCount, ColIdleCount, ColRefs, ColCommands, ColAllocs, ColFrees,
		ColPoolHits, ColPoolMisses}
	var c columns
	c.names = names
	b := bytes.NewBuffer(c.header())
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range rows {
		fmt.Fprintf(b, "%d.%03d,%d", n*50, rng.IntN(1000), n/3)
		for c := 2; c < len(names); c++ {
			fmt.Fprintf(b, ",%d", uint64(c)*1_000_003*uint64(1+n/(c*c*c*100))+uint64(rng.IntN(4096)))
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// BenchmarkReadCSV reads 1,000,000 rows × 20 columns, from memory and from a
// file, and prints what the reading allocated at most.
func BenchmarkReadCSV(b *testing.B) {
	data := bigCSV(1_000_000)
	path := filepath.Join(b.TempDir(), FileSamples)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		b.Fatal(err)
	}
	size := len(data)
	data = nil
	b.SetBytes(int64(size))
	for b.Loop() {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		run, err := Open(path)
		if err != nil || run.Samples.Len() != 1_000_000 || len(run.Warnings) != 0 {
			b.Fatal(run, err)
		}
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/(1<<20), "MiB-allocated")
	}
}

// BenchmarkWriterSample writes rows of 15 cells at steady state.
func BenchmarkWriterSample(b *testing.B) {
	w, err := Create(filepath.Join(b.TempDir(), "run"), Meta{}, CreateOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	row := Row{}
	for _, name := range []string{ColRSS, ColRSSAnon, ColRSSFile, ColRSSShmem, ColSwap, ColFootprint, ColStep,
		ColHostHeap, ColGPU, ColLive, ColIdle, ColLiveCount, ColIdleCount, ColRefs, ColDropped} {
		row.Cells = append(row.Cells, Cell{Column: name, Value: 123456789})
	}
	b.ReportAllocs()
	for b.Loop() {
		row.T += 50 * time.Millisecond
		if err := w.Sample(row); err != nil {
			b.Fatal(err)
		}
	}
}
