//go:build unix

package tracer

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gpumem/gpumem/tracer/agent"
	"github.com/gpumem/gpumem/tracer/record"
)

// benchRecording is a recording of this process.
func benchRecording(b *testing.B) (*attempt, *followed) {
	s, err := begin(Config{Command: []string{"x"}, Out: filepath.Join(b.TempDir(), "run"), Interval: defaultInterval})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		s.recording.close()
		s.out.Close()
	})
	s.main = os.Getpid()
	return s, s.follow(s.main)
}

// BenchmarkTimerRow is a row by timer from the reading of /proc to the file.
func BenchmarkTimerRow(b *testing.B) {
	s, f := benchRecording(b)
	b.ReportAllocs()
	for b.Loop() {
		s.mu.Lock()
		s.row(f, s.clock.Now(), nil)
		s.mu.Unlock()
	}
}

// BenchmarkAgentRow is the tracer's end of an agent's sample, decoded already.
func BenchmarkAgentRow(b *testing.B) {
	s, f := benchRecording(b)
	sample := agent.Sample{}
	for _, name := range []string{record.ColLive, record.ColIdle, record.ColLiveCount, record.ColIdleCount,
		record.ColRefs, record.ColGPU, record.ColHostHeap, record.ColDropped} {
		sample.Cells = append(sample.Cells, record.Cell{Column: name, Value: 1 << 30})
	}
	f.rate = newBucket(1e12, 1e12)
	b.ReportAllocs()
	for b.Loop() {
		s.mu.Lock()
		sample.TNs = s.clock.Now()
		listener{r: s.recording}.sample(f, &sample, sample.TNs)
		s.mu.Unlock()
	}
}
