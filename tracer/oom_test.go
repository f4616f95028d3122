package tracer

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/tracer/agent"
	"github.com/gpumem/gpumem/tracer/record"
)

// An exception for want of memory need not come of an allocator that told of it before: a program may not come
// to its first allocation.
func TestAProgramThatDiesForWantOfMemoryHasTheDriversAskedWhoHoldsIt(t *testing.T) {
	var asked atomic.Int32
	out := filepath.Join(t.TempDir(), "run")
	s, err := begin(Config{Command: []string{"x"}, Out: out, Interval: defaultInterval,
		Charges: func(context.Context) []probe.Charge {
			asked.Add(1)
			return []probe.Charge{{PID: 650, LocalBytes: 105 << 30, HostBytes: probe.Unknown}}
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.out.Close()
	defer s.recording.close()
	s.main = os.Getpid()
	dies := func(text string, told bool) {
		s.mu.Lock()
		f := s.follow(s.main)
		f.askedOthers = told
		detail, _ := json.Marshal(record.Died{Text: text})
		listener{r: s.recording, concludes: &s.concludes}.mark(f, &agent.Mark{Kind: record.KindDied,
			Name: "torch.AcceleratorError", Detail: detail}, s.clock.Now())
		s.mu.Unlock()
		s.concludes.Wait()
	}
	dies("no such file", false)
	dies("CUDA error: out of memory", true)
	if n := asked.Load(); n != 0 {
		t.Fatalf("the drivers were asked %d times", n)
	}
	dies("CUDA error: out of memory", false)
	if n := asked.Load(); n != 1 {
		t.Fatalf("the drivers were asked %d times, not once", n)
	}
}
