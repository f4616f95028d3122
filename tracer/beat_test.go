package tracer

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gpumem/gpumem/tracer/agent"
	"github.com/gpumem/gpumem/tracer/record"
	"github.com/gpumem/gpumem/tracer/sample"
)

// calmRun is a recording of this process, found long ago, of which nothing moves.
func calmRun(t *testing.T, calm time.Duration) (*attempt, *followed) {
	s, err := begin(Config{Command: []string{"x"}, Out: filepath.Join(t.TempDir(), "run"),
		Interval: defaultInterval, Calm: calm})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.recording.close()
		s.out.Close()
	})
	s.main = os.Getpid()
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.follow(s.main)
	s.row(f, s.clock.Now(), nil)
	s.calmDown(f)
	return s, f
}

// calmDown makes a process calm, whatever its figures are.
func (s *attempt) calmDown(f *followed) {
	old := s.clock.Now() - int64(time.Hour)
	cells, _ := f.ps.Row(s.clock.Now(), nil)
	f.calm = sample.NewCalm(old)
	f.calm.Take(old, cells)
}

// hurriedNow reports whether the next tick comes at once.
func (s *attempt) hurriedNow() bool {
	select {
	case <-s.beat.hurried:
		return true
	default:
		return false
	}
}

func TestTheTimerIsSlowWhileNothingMovesAndFastAtOnceWhenItDoes(t *testing.T) {
	s, f := calmRun(t, 250*time.Millisecond)
	if got := s.nextInterval(0); got != 250*time.Millisecond {
		t.Fatalf("while nothing moves the interval is %s", got)
	}
	s.mu.Lock()
	now := s.clock.Now()
	f.lastRow = now - int64(100*time.Millisecond)
	if s.beat.isDue(f, now) || !s.beat.isDue(f, now+int64(150*time.Millisecond)) {
		t.Error("a calm process has its row before 250 ms, or not then")
	}
	listener{r: s.recording}.mark(f, &agent.Mark{Kind: record.KindPhase, Name: "warm"}, now)
	s.mu.Unlock()
	if !s.hurriedNow() {
		t.Error("a mark does not end the calm wait")
	}
	if got := s.nextInterval(0); got != defaultInterval {
		t.Errorf("after a mark the interval is %s", got)
	}
	s.mu.Lock()
	s.calmDown(f)
	s.mu.Unlock()
	s.nextInterval(0)
	s.mu.Lock()
	listener{r: s.recording}.sample(f, &agent.Sample{Cells: []record.Cell{{Column: record.ColLive,
		Value: 1 << 30}}}, s.clock.Now())
	s.mu.Unlock()
	if !s.hurriedNow() || s.nextInterval(0) != defaultInterval {
		t.Error("what an agent tells moved, and the timer stays slow")
	}
}

func TestAChosenIntervalIsKeptWhateverMoves(t *testing.T) {
	s, f := calmRun(t, 0)
	for range 100 {
		if got := s.nextInterval(time.Second); got != defaultInterval {
			t.Fatalf("the interval is %s, want the one that was asked for", got)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f.lastRow = s.clock.Now()
	if !s.beat.isDue(f, f.lastRow) {
		t.Error("a row is left out")
	}
}

func TestManyProcessesAreSampledAsOftenAsTheirCostAllows(t *testing.T) {
	s, _ := calmRun(t, 250*time.Millisecond)
	s.mu.Lock()
	for i := range costlyFrom {
		s.follow(1<<30 + i) // there are none of these: they only count
	}
	s.mu.Unlock()
	var got time.Duration
	for range 32 {
		got = s.nextInterval(20 * time.Millisecond)
	}
	if got != 400*time.Millisecond {
		t.Errorf("ticks of 20 ms come each %s, want 400 ms: 5 %% of a core", got)
	}
	for range 32 {
		got = s.nextInterval(time.Hour)
	}
	if got != slowest {
		t.Errorf("however dear, the interval is at most %s, not %s", slowest, got)
	}
}

func TestALineReadLateHasTheHostsFiguresOnlyWhereTheyAreTheSame(t *testing.T) {
	s, f := calmRun(t, 250*time.Millisecond)
	s.nextInterval(0)
	s.mu.Lock()
	defer s.mu.Unlock()
	told := &agent.Sample{TNs: s.clock.Now() - int64(120*time.Millisecond)}
	s.start = told.TNs - int64(time.Second)
	rows := func() []record.Cell { listener{r: s.recording}.sample(f, told, s.clock.Now()); return s.cells }
	told.Cells = []record.Cell{{Column: record.ColLiveCount, Value: 1}}
	if cells := rows(); len(cells) < 2 {
		t.Errorf("the row has %v alone, though nothing had moved", cells)
	}
	s.calmDown(f)
	f.calm.Take(f.lastRow-int64(time.Hour), []record.Cell{{Column: record.ColRSS, Value: 1 << 50}})
	if cells := rows(); len(cells) != 1 {
		t.Errorf("the row of 120 ms ago has figures of now: %v", cells)
	}
}
