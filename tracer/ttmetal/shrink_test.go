package ttmetal

import (
	"runtime"
	"runtime/metrics"
	"testing"
)

// held is how much memory this process has of the system's, as Go counts it.
func held() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64() - s[1].Value.Uint64()
}

// filled are books with n buffers of process 2 and one in a hundred of process 1.
func filled(w *world, st store, n int) *Registry {
	r := newRegistry(st, 0)
	for i := range n {
		pid := int32(2)
		if i%100 == 0 {
			pid = 1
		}
		q := alloc(int32(i%8), uint64(i)<<12, 64, DRAM, pid)
		r.apply(&q, process{pid: pid, owner: pid, start: w.Start(pid)})
	}
	return r
}

// Not parallel: it measures the memory of the whole process.
func TestTheMemoryOfAMillionSweptBuffersIsGivenBack(t *testing.T) {
	const n = 1_000_000
	w := &world{start: map[int32]uint64{1: 100, 2: 100}}
	runtime.GC()
	before := held()
	r := filled(w, heap{}, n)
	peak := held()
	w.kill(2)
	if swept := r.Sweep(w); len(swept) != 1 || swept[0].Count[0] != n-n/100 {
		t.Fatalf("%+v", swept)
	}
	swept := held()
	given := r.Shrink()
	after := held()
	t.Logf("before %d, at the peak %d, swept %d, given back %d MiB", before>>20, peak>>20, swept>>20, after>>20)
	if given != n-n/100 || after > peak/2 || after > before+peak/4 {
		t.Errorf("%d entries were given back, and %d of %d MiB stay", given, after>>20, peak>>20)
	}
	if again := r.Shrink(); again != 0 {
		t.Errorf("a second time gives %d entries back", again)
	}
	isLeft(t, r, n/100)
	runtime.KeepAlive(r)
}

// isLeft holds that the books still know the buffers of process 1, and take new
// ones.
func isLeft(t *testing.T, r *Registry, n int) {
	t.Helper()
	if r.Live() != int64(n) {
		t.Errorf("%d buffers are left, want %d", r.Live(), n)
	}
	for i := range n {
		q := free(int32(i*100%8), uint64(i*100)<<12, 1)
		if e := r.apply(&q, process{pid: 1}); e.Unknown || e.PID != 1 {
			t.Fatalf("buffer %d: %+v", i*100, e)
		}
	}
	if again := alloc(0, 1, 64, DRAM, 1); r.apply(&again, process{pid: 1}).Refs != 1 || r.Live() != 1 {
		t.Errorf("%d buffers after all were freed and one allocated", r.Live())
	}
}

// BenchmarkTenMillionSweptBuffers prints what a server has of the system's memory with
// ten million buffers on its books, and once their process is dead and they are swept.
func BenchmarkTenMillionSweptBuffers(b *testing.B) {
	const n, mib = 10_000_000, 1 << 20
	for b.Loop() {
		w := &world{start: map[int32]uint64{1: 100, 2: 100}}
		r := filled(w, heap{}, n)
		b.ReportMetric(float64(held())/mib, "MiB-peak")
		w.kill(2)
		r.Sweep(w)
		r.Shrink()
		b.ReportMetric(float64(held())/mib, "MiB-swept")
		runtime.KeepAlive(r)
	}
}
