package ttmetal

import (
	"io"
	"runtime"
	"testing"
	"time"
)

func BenchmarkBooksAllocateAndFree(b *testing.B) {
	r := newBooks(0)
	p := process{pid: 1}
	b.ReportAllocs()
	for i := range b.N {
		q := alloc(0, uint64(i), 4096, DRAM, 1)
		r.apply(&q, p)
		q.Kind = Free
		r.apply(&q, p)
	}
}

// BenchmarkMessagesOverSixteenConnections is the budget of DESIGN.md §9: 16
// programs, a server and a monitor that asks all the while, each part in a
// process of its own. "paced" is 540,000 messages a second in all, each a write
// of its own as the real client does; the others send as fast as they can, as
// many messages a write as their name says.
func BenchmarkMessagesOverSixteenConnections(b *testing.B) {
	for _, c := range []struct {
		name string
		load load
	}{
		{"paced", load{perWrite: 1, rate: 540_000}},
		{"1 a write", load{perWrite: 1}},
		{"16 a write", load{perWrite: 16}},
		{"256 a write,state", load{perWrite: 256, state: true}},
	} {
		b.Run(c.name, c.load.run)
	}
}

// million is the allocation of one of a million buffers.
func million(i uint64) Request { return alloc(int32(i%8), i*4096, 4096, DRAM, 1) }

// BenchmarkAMillionBuffers prints the memory of a live buffer and the time of
// a dump, as text and as JSON, while messages go on.
func BenchmarkAMillionBuffers(b *testing.B) {
	const n = 1_000_000
	s := serve(b, Options{TrustPIDs: true, Quiet: true})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range uint64(n) {
		q := million(i)
		s.Books().apply(&q, process{pid: 1})
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() { // a program that goes on
		defer close(stopped)
		for i := uint64(0); ; i++ {
			select {
			case <-stop:
				return
			default:
				q := alloc(9, i%1000, 4096, L1, 1)
				s.Books().apply(&q, process{pid: 1})
				q.Kind = Free
				s.Books().apply(&q, process{pid: 1})
			}
		}
	}()
	var text, asJSON time.Duration
	b.ResetTimer()
	for range b.N {
		start := time.Now()
		s.dumpText(DumpRemaining)
		text += time.Since(start)
		start = time.Now()
		if err := s.writeJSON(io.Discard); err != nil {
			b.Fatal(err)
		}
		asJSON += time.Since(start)
	}
	b.StopTimer()
	close(stop)
	<-stopped
	dump := dumped(b, s.o.Socket)
	want := model{}
	for i := range uint64(n) {
		q := million(i)
		want.apply(&q)
	}
	want.isDumped(b, dump)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "B/buffer")
	b.ReportMetric(float64(text.Milliseconds())/float64(b.N), "ms/dump")
	b.ReportMetric(float64(asJSON.Milliseconds())/float64(b.N), "ms/json")
}
