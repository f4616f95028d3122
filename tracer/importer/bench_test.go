package importer

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func BenchmarkTorchSnapshot(b *testing.B) {
	data := snapshot(b)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(bytes.NewReader(data), "x"); err != nil {
			b.Fatal(err)
		}
	}
}

// enlarge writes the snapshot again with its events repeated, each its own
// object and the stacks shared, as PyTorch writes them.
const enlarge = `
import pickle, sys
s = pickle.load(open(sys.argv[1], "rb"))
trace = max(s["device_traces"], key=len)
span = trace[-1]["time_us"] - trace[0]["time_us"] + 1000
s["device_traces"] = [[dict(e, time_us=e["time_us"] + i * span) for i in range(int(sys.argv[3])) for e in trace]]
pickle.dump(s, open(sys.argv[2], "wb"))
`

const loadInPython = `
import pickle, resource, sys, time
t = time.perf_counter()
s = pickle.load(open(sys.argv[1], "rb"))
print(time.perf_counter() - t, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
`

// BenchmarkTorchSnapshotBesidePython reads a snapshot of a million events, and
// has Python's pickle read it. GPUMEM_BENCH_EVENTS makes it longer: the events
// in millions.
func BenchmarkTorchSnapshotBesidePython(b *testing.B) {
	python, err := exec.LookPath("python3")
	if err != nil {
		b.Skip("python3 is not installed: nothing to compare with")
	}
	dir := b.TempDir()
	small, big := filepath.Join(dir, "small.pickle"), filepath.Join(dir, "big.pickle")
	if err := os.WriteFile(small, snapshot(b), 0o644); err != nil {
		b.Fatal(err)
	}
	repeat := 250
	if n := os.Getenv("GPUMEM_BENCH_EVENTS"); n != "" {
		fmt.Sscan(n, &repeat)
		repeat *= 250
	}
	if out, err := exec.Command(python, "-c", enlarge, small, big,
		fmt.Sprint(repeat)).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	info, err := os.Stat(big)
	if err != nil {
		b.Fatal(err)
	}
	mib := float64(info.Size()) / (1 << 20)
	var seconds, rss float64
	out, err := exec.Command(python, "-c", loadInPython, big).Output()
	if _, scanned := fmt.Sscan(string(out), &seconds, &rss); err != nil || scanned != nil {
		b.Fatal(err, scanned)
	}
	b.SetBytes(info.Size())
	for b.Loop() {
		start := time.Now()
		held, kept := readWatched(b, big)
		b.ReportMetric(mib/time.Since(start).Seconds(), "MiB/s")
		b.ReportMetric(held/(1<<20), "peak-MiB")
		b.ReportMetric(kept/(1<<20), "kept-MiB")
	}
	b.ReportMetric(mib, "file-MiB")
	b.ReportMetric(mib/seconds, "python-MiB/s")
	b.ReportMetric(rss/1024, "python-peak-MiB")
}

// readWatched reads a file and returns the most heap that was seen, and the
// heap that is left when only the run is kept.
func readWatched(b *testing.B, path string) (peak, kept float64) {
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before := m.HeapAlloc
	stop, seen := make(chan struct{}), make(chan uint64)
	go func() {
		most := uint64(0)
		for {
			select {
			case <-stop:
				seen <- most
				return
			case <-time.After(5 * time.Millisecond):
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapAlloc)
			}
		}
	}()
	run, err := Read(f, path)
	close(stop)
	peak = float64(<-seen) - float64(before)
	if err != nil {
		b.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&m)
	kept = float64(m.HeapAlloc) - float64(before)
	runtime.KeepAlive(run)
	return max(peak, kept), kept
}

func BenchmarkStatementLog(b *testing.B) {
	text := strings.Repeat(traceLog, 10_000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(strings.NewReader(text), "x"); err != nil {
			b.Fatal(err)
		}
	}
}
