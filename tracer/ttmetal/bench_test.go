package ttmetal

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
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

// BenchmarkMessagesOverSixteenConnections is the budget of DESIGN.md §9, while
// a monitor asks: b.N messages in all, in writes of as many as stand in the
// name, with event lines and without.
func BenchmarkMessagesOverSixteenConnections(b *testing.B) {
	for _, perWrite := range []int{1, 16, 256} {
		for _, quiet := range []bool{true, false} {
			b.Run(fmt.Sprintf("%d a write,quiet=%v", perWrite, quiet), func(b *testing.B) {
				flood(b, perWrite, Options{Quiet: quiet, TrustPIDs: true, Out: io.Discard})
			})
		}
	}
	b.Run("256 a write,state", func(b *testing.B) {
		flood(b, 256, Options{Quiet: true, TrustPIDs: true, StatePath: b.TempDir() + "/state"})
	})
}

func flood(b *testing.B, perWrite int, o Options) {
	s := serve(b, o)
	const conns = 16
	each := max(b.N/conns/2, 1) // allocations and frees
	b.ResetTimer()
	var wg sync.WaitGroup
	for c := range conns {
		wg.Add(1)
		go func() {
			defer wg.Done()
			k, err := net.Dial("unix", s.o.Socket)
			if err != nil {
				b.Error(err)
				return
			}
			defer k.Close()
			buf, held := make([]byte, 0, perWrite*V4), 0
			put := func(q Request) {
				buf = q.Append(buf, V4)
				if held++; held == perWrite {
					k.Write(buf)
					buf, held = buf[:0], 0
				}
			}
			for i := range each { // a working set of 1,000 buffers a program
				id := uint64(c)<<32 | uint64(i%1000)
				put(alloc(int32(c%8), id, 4096, L1, 1))
				put(free(int32(c%8), id, 1))
			}
			k.Write(Request{Kind: Query}.Append(buf, V4))
			io.ReadFull(k, make([]byte, V4))
		}()
	}
	stop, asked := make(chan struct{}), make(chan []time.Duration)
	go askQueries(s.o.Socket, stop, asked)
	wg.Wait()
	b.StopTimer()
	close(stop)
	waits := <-asked
	slices.Sort(waits)
	if got := s.Books().Live(); got != 0 || s.Counts().Unknown != 0 {
		b.Errorf("%d buffers stay, %d frees were unknown: messages were lost", got, s.Counts().Unknown)
	}
	b.ReportMetric(float64(2*each*conns)/b.Elapsed().Seconds(), "messages/s")
	if n := len(waits); n > 0 {
		b.ReportMetric(float64(waits[n*99/100].Microseconds()), "p99-query-µs")
	}
}

// BenchmarkHalfAMillionMessagesASecond prints how long a query waits while 16
// programs send some 540,000 messages a second in all, each by a write of its own as
// the real client does, to a server in a process of its own. messages/s is what
// was reached.
func BenchmarkHalfAMillionMessagesASecond(b *testing.B) {
	const conns, rate, tick = 16, 540_000, time.Millisecond
	socket, cmd := childServer(b, shortDir(b), false)
	monitor := exec.Command(os.Args[0])
	monitor.Env = append(os.Environ(), childAsk+"="+socket)
	stop, err := monitor.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	var waited bytes.Buffer
	monitor.Stdout = &waited
	if err := monitor.Start(); err != nil {
		b.Fatal(err)
	}
	var sent atomic.Int64
	var wg sync.WaitGroup
	end := time.Now().Add(3 * time.Second)
	start := time.Now()
	for c := range conns {
		wg.Add(1)
		go func() {
			defer wg.Done()
			k, err := net.Dial("unix", socket)
			if err != nil {
				b.Error(err)
				return
			}
			defer k.Close()
			buf, n := make([]byte, 0, V4), 0
			for began := time.Now(); time.Now().Before(end); time.Sleep(tick) {
				for due := int(time.Since(began).Seconds() * rate / conns); n < due; n++ {
					q := alloc(int32(c%8), uint64(c)<<32|uint64(n/2%1000), 4096, L1, 1)
					q.Kind += Kind(n % 2)
					k.Write(q.Append(buf, V4))
				}
			}
			k.Write(Request{Kind: Query}.Append(buf, V4))
			io.ReadFull(k, make([]byte, V4))
			sent.Add(int64(n))
		}()
	}
	wg.Wait()
	took := time.Since(start)
	stop.Close()
	if err := monitor.Wait(); err != nil {
		b.Fatal(err)
	}
	p99, err := strconv.ParseFloat(strings.TrimSpace(waited.String()), 64)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(sent.Load())/took.Seconds(), "messages/s")
	b.ReportMetric(p99, "p99-query-µs")
	cmd.Process.Signal(os.Interrupt)
	cmd.Wait()
	b.ReportMetric(100*(cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()).Seconds()/took.Seconds(), "%cpu-server")
}

// askQueries times queries, one after the other.
func askQueries(socket string, stop chan struct{}, done chan []time.Duration) {
	var waits []time.Duration
	defer func() { done <- waits }()
	k, err := net.Dial("unix", socket)
	if err != nil {
		return
	}
	defer k.Close()
	q, answer := Request{Kind: Query}.Append(nil, V4), make([]byte, V4)
	for {
		select {
		case <-stop:
			return
		case <-time.After(time.Millisecond):
		}
		start := time.Now()
		k.Write(q)
		if _, err := io.ReadFull(k, answer); err != nil {
			return
		}
		waits = append(waits, time.Since(start))
	}
}

// BenchmarkAMillionBuffers prints the memory of a live buffer and the time of
// a dump, as text and as JSON, while messages go on.
func BenchmarkAMillionBuffers(b *testing.B) {
	const n = 1_000_000
	s := serve(b, Options{TrustPIDs: true, Quiet: true})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range uint64(n) {
		q := alloc(int32(i%8), i*4096, 4096, DRAM, 1)
		s.Books().apply(&q, process{pid: 1})
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	stop := make(chan struct{})
	go func() { // a program that goes on
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
	close(stop)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "B/buffer")
	b.ReportMetric(float64(text.Milliseconds())/float64(b.N), "ms/dump")
	b.ReportMetric(float64(asJSON.Milliseconds())/float64(b.N), "ms/json")
}
