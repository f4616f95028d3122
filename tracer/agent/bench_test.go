package agent

import (
	"bytes"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/gpumem/gpumem/tracer/record"
)

// benchClient is a client whose tracer reads everything and does nothing.
func benchClient(b *testing.B) *Client {
	c, peer := pairedClient(b)
	go io.Copy(io.Discard, peer)
	return c
}

// pairedClient is a client of 15 columns and the tracer's end of its socket.
func pairedClient(b *testing.B) (*Client, net.Conn) {
	path := filepath.Join(b.TempDir(), "s")
	lis, err := net.Listen("unix", path)
	if err != nil {
		b.Fatal(err)
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		b.Fatal(err)
	}
	peer, err := lis.Accept()
	if err != nil {
		b.Fatal(err)
	}
	names := []string{record.ColLive, record.ColIdle, record.ColLiveCount, record.ColIdleCount,
		record.ColRefs, record.ColAllocs,
		record.ColFrees, record.ColPoolHits, record.ColPoolMisses, record.ColCommands, record.ColInFlight,
		record.ColGPU}
	c, err := newClient(conn.(*net.UnixConn), Hello{}, func(cells []record.Cell) []record.Cell {
		for _, name := range names {
			cells = append(cells, record.Cell{Column: name, Value: 1 << 30})
		}
		return cells
	})
	if err != nil {
		b.Fatal(err)
	}
	c.interval = time.Hour
	c.start()
	b.Cleanup(func() {
		c.Close()
		peer.Close()
		lis.Close()
	})
	return c, peer
}

// BenchmarkSample is one whole sample of 15 columns: values, line, socket. The
// tracer's end is read between batches, outside the time.
func BenchmarkSample(b *testing.B) {
	c, peer := pairedClient(b)
	drop := make([]byte, 1<<20)
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		c.mu.Lock()
		c.sample(c.clock.Now())
		c.mu.Unlock()
		if n++; n%64 == 0 {
			b.StopTimer()
			peer.SetReadDeadline(time.Now().Add(time.Second))
			for left := 64; left > 0; {
				k, err := peer.Read(drop)
				if err != nil {
					b.Fatal(err)
				}
				left -= bytes.Count(drop[:k], []byte("\n"))
			}
			b.StartTimer()
		}
	}
	b.ReportMetric(float64(c.Dropped()), "dropped")
}

// BenchmarkSampleWakes is a sample with a tracer that sleeps on its socket and
// is woken by it, after a pause in which the caches went cold: the dearest a
// sample can be. ns/sample is without the pauses.
func BenchmarkSampleWakes(b *testing.B) { samplesAfterPauses(b, benchClient(b)) }

// BenchmarkSampleReadLate is the same with a tracer that reads the program late,
// as it does once that has lived for five seconds.
func BenchmarkSampleReadLate(b *testing.B) {
	const lag = 20 * time.Millisecond
	s, err := Listen(&ear{}, lag)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	b.Setenv(EnvSocket, s.Path())
	c, err := Connect(Hello{}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	time.Sleep(quietAfter*lag + 100*time.Millisecond)
	samplesAfterPauses(b, c)
}

func samplesAfterPauses(b *testing.B, c *Client) {
	b.ReportAllocs()
	var took time.Duration
	for b.Loop() {
		time.Sleep(200 * time.Microsecond)
		start := time.Now()
		c.mu.Lock()
		c.sample(c.clock.Now())
		c.mu.Unlock()
		took += time.Since(start)
	}
	b.ReportMetric(float64(took.Nanoseconds())/float64(b.N), "ns/sample")
	b.ReportMetric(float64(c.Dropped()), "dropped")
}

// BenchmarkEncode is a sample less the socket.
func BenchmarkEncode(b *testing.B) {
	c := benchClient(b)
	c.Close()
	b.ReportAllocs()
	for b.Loop() {
		cells := c.src(c.cells[:0])
		cells = c.heap.append(cells, c.clock.Now())
		c.cells = cells
		c.enc.begin(1)
		for i, cell := range cells {
			c.enc.cell(i, cell)
		}
		c.enc.end()
	}
}

// BenchmarkStep is a step in a storm of them, nearly all without a sample.
func BenchmarkStep(b *testing.B) {
	c := benchClient(b)
	b.ReportAllocs()
	n := int64(0)
	for b.Loop() {
		n++
		c.Step(n)
	}
}

// BenchmarkDecode is the tracer's end of a sample.
func BenchmarkDecode(b *testing.B) {
	d := newDecoder()
	line := []byte(
		`{"sample":{"t_ns":123456789012,"step":7,"pool_live_bytes":1048576,"pool_idle_bytes":1048576,"live_count":3,"idle_count":3,"refs":4,"allocs":123456,"frees":123456,"pool_hits":123456,"dropped":0}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.decode(line); err != nil {
			b.Fatal(err)
		}
	}
}
