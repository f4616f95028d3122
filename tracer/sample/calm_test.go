package sample

import (
	"testing"
	"time"

	"github.com/gpumem/gpumem/tracer/record"
)

// figures are the cells of a row with so many bytes of memory and so many commands.
func figures(rss, commands int64) []record.Cell {
	return []record.Cell{{Column: record.ColPID, Value: rss}, {Column: record.ColRSS, Value: rss},
		{Column: record.ColCommands, Value: commands}}
}

func TestAProcessIsCalmOnceItIsOldAndNothingMoved(t *testing.T) {
	t.Parallel()
	c := NewCalm(0)
	at := func(s float64) int64 { return int64(s * float64(time.Second)) }
	c.Take(0, figures(100<<20, 0))
	if c.Is(at(14.9)) || !c.Is(at(15)) {
		t.Error("a process is calm before it is 15 s old, or not then")
	}
	if c.Take(at(20), figures(100<<20+4096, 1e6)) || !c.Is(at(20)) {
		t.Error("a page and a running total are a movement")
	}
	if !c.Take(at(21), figures(101<<20, 2e6)) || c.Is(at(25.9)) || !c.Is(at(26)) {
		t.Error("a MiB is no movement, or does not count for 5 s")
	}
	c.Stir(at(30))
	if c.Is(at(34)) || !c.Is(at(35)) {
		t.Error("what happened is no movement")
	}
}

func TestASlowDriftMovesEachTimeThatItHasComeFarEnough(t *testing.T) {
	t.Parallel()
	c := NewCalm(0)
	moves := 0
	for i := range int64(1000) { // 100 KiB a row, 100 MiB in all
		if c.Take(i, figures(64<<20+i*100<<10, 0)) {
			moves++
		}
	}
	if moves < 200 || moves > 400 {
		t.Errorf("a drift of 100 MiB moved %d times, want one in a quarter of a MiB", moves)
	}
}

func TestWhatGoesBackAndForthWithinANarrowRangeIsCalm(t *testing.T) {
	t.Parallel()
	breathes := func(by int64) bool {
		c := NewCalm(0)
		for i := range int64(60 * 20) { // a minute at 20 Hz
			c.Take(i*50e6, figures(200<<20+i%7*by/7, 0))
		}
		return c.Is(60e9)
	}
	if !breathes(900 << 10) {
		t.Error("900 KiB of pages that go and come keeps the process lively")
	}
	if breathes(50 << 20) {
		t.Error("50 MiB that go and come are no movement")
	}
	c := NewCalm(0)
	for _, rss := range []int64{1000, 100, 101} { // MiB: a peak at the start hides nothing later
		if !c.Take(0, figures(rss<<20, 0)) {
			t.Errorf("%d MiB are no movement", rss)
		}
	}
}

func TestFiguresOfAnyNumberOfColumnsAreBounded(t *testing.T) {
	t.Parallel()
	c := NewCalm(0)
	for i := range 1000 {
		c.Take(int64(i), []record.Cell{{Column: string(rune('a' + i)), Value: 1}})
	}
	if len(c.levels) > mostLevels {
		t.Errorf("%d levels are kept, want %d", len(c.levels), mostLevels)
	}
}

func TestMissedTicksAreCountedAcrossIntervals(t *testing.T) {
	t.Parallel()
	start := time.Now()
	p := NewPace(50*time.Millisecond, start)
	p.Tick(start.Add(50 * time.Millisecond))
	if w := p.Wait(start.Add(70 * time.Millisecond)); w != 30*time.Millisecond {
		t.Errorf("the next tick is due in %s, want 30 ms: the grid has moved", w)
	}
	p.Tick(start.Add(200 * time.Millisecond)) // two were owed between
	p.Change(250 * time.Millisecond)
	p.Tick(start.Add(450 * time.Millisecond))
	p.Tick(start.Add(700 * time.Millisecond))
	if p.Missed() != 2 {
		t.Errorf("%d ticks are missed, want the 2 of the shorter interval", p.Missed())
	}
	p.Change(50 * time.Millisecond)
	p.Tick(start.Add(850 * time.Millisecond))
	if p.Missed() != 4 {
		t.Errorf("%d ticks are missed, want 4", p.Missed())
	}
}
