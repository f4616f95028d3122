package live

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

const mib = 1 << 20

// newSet is a set with what a test does not care for filled in.
func newSet(o Options) *Set {
	o.Lock = &sync.Mutex{}
	if o.Rows == nil {
		o.Rows = func(int) int { return 1024 }
	}
	return NewSet(o)
}

// host is a row of a process that the system charges with so much.
func host(bytes int64) []record.Cell {
	return []record.Cell{{Column: record.ColRSS, Value: bytes}, {Column: record.ColFootprint, Value: bytes}}
}

// leak gives the set rows of so many processes over n seconds, of which the one with
// the pid leaking grows, and calls each after each second.
func leak(s *Set, processes, leaking, n int, each func()) {
	for i := range n {
		for pid := 1; pid <= processes; pid++ {
			bytes := int64(50*mib) + int64((i*7919+pid*104729)%97)<<10
			if pid == leaking {
				bytes += int64(i) * mib / 4
			}
			s.Row(pid, float64(i)*1000, host(bytes))
		}
		s.Round()
		each()
	}
}

func TestAlarmsDependOnTheRowsAndNotOnWhenSomebodyLooks(t *testing.T) {
	t.Parallel()
	often, seldom := newSet(Options{Judges: Alarms}), newSet(Options{Judges: Alarms})
	leak(often, 3, 2, 600, often.Look)
	leak(seldom, 3, 2, 600, func() {})
	seldom.Look()
	for pid := 1; pid <= 3; pid++ {
		a, b := often.Of(pid).Alarm, seldom.Of(pid).Alarm
		if (a != nil) != (pid == 2) || !reflect.DeepEqual(a, b) {
			t.Errorf("process %d: looked at often %+v, at the end %+v", pid, a, b)
		}
	}
}

func TestWhoHasTheLastWordIsTheOwnersChoice(t *testing.T) {
	t.Parallel()
	for _, c := range [...]struct {
		judges    Judges
		processes int
		quiet     verdict.Class // of a process that does not grow; empty is no verdict
		engine    bool          // it was judged by the engine
	}{
		{Each, 12, verdict.None, true}, {Few, 3, verdict.None, true}, {Few, 12, "", false},
		{Online, 12, verdict.None, true}, {Alarms, 12, "", false},
	} {
		s := newSet(Options{Judges: c.judges})
		leak(s, c.processes, 2, 600, s.Look)
		of := func(pid int) verdict.Class {
			if v := s.Verdict(s.Of(pid)); v != nil {
				return v.Verdict
			}
			return ""
		}
		if class := of(2); class == "" || class == verdict.None {
			t.Errorf("judges %d, %d processes: the leak is %q", c.judges, c.processes, class)
		}
		if class := of(1); class != c.quiet || (s.Of(1).Judged.Looks > 0) != c.engine {
			t.Errorf("judges %d, %d processes: a quiet one is %q after %d looks",
				c.judges, c.processes, class, s.Of(1).Judged.Looks)
		}
	}
}

func TestTheChosenProcessIsJudgedFirstAndTheOthersInTurn(t *testing.T) {
	t.Parallel()
	var order []int
	var s *Set
	now := time.Now()
	s = newSet(Options{
		Judges: Few, Most: 1, Now: func() time.Time { return now },
		Chosen: func() *Process { return s.Of(3) },
	})
	leak(s, 3, 0, 60, func() {})
	for range 4 {
		for _, p := range s.due() {
			order = append(order, p.PID)
			s.judge(p, false)
		}
		order = append(order, 0)
	}
	if !slices.Equal(order, []int{3, 1, 0, 2, 0, 0, 0}) {
		t.Errorf("judged were %v", order)
	}
	s.Row(3, 60_000, host(mib))
	if now = now.Add(chosenEvery); len(s.due()) != 1 {
		t.Error("after a second and a row the chosen one is not due")
	}
}

func TestAtTheEndAllIsJudgedByAllRowsButTheDead(t *testing.T) {
	t.Parallel()
	s := newSet(Options{Judges: Each})
	leak(s, 3, 0, 10, s.Look)
	s.Dead(3, 9000, host(mib))
	if s.Of(1).Judged.Verdict != nil {
		t.Error("ten rows were judged")
	}
	s.Finish()
	one, two, dead := s.Of(1).Judged, s.Of(2).Judged, s.Of(3).Judged
	if one.Verdict == nil || two.Looks != 1 || dead.Looks != 0 || s.Verdict(s.Of(3)) != nil {
		t.Errorf("%+v, %+v, %+v", one, two, dead)
	}
	if s.Finish(); s.Of(1).Judged.Looks != 1 {
		t.Error("the same rows were judged twice")
	}
}

func TestRowsWithoutAPidAreOfTheProgramOnceItsPidIsKnown(t *testing.T) {
	t.Parallel()
	s := newSet(Options{NameOf: func(pid int) string { return fmt.Sprintf("process %d", pid) }})
	s.Row(0, 0, host(1))
	s.Row(8, 10, host(1))
	s.SetMeta(record.Meta{PID: 7})
	s.Row(0, 20, host(1))
	var pids []int
	for p := range s.All() {
		pids = append(pids, p.PID)
	}
	if !slices.Equal(pids, []int{7, 8}) || s.Of(7).Count != 2 || s.Of(8).Name != "process 8" {
		t.Errorf("processes %v, the program has %d rows", pids, s.Of(7).Count)
	}
}

func TestTimesOfAProcessNeverGoBack(t *testing.T) {
	t.Parallel()
	s := newSet(Options{})
	for _, at := range []float64{10, 30, 20, 40} {
		s.Row(1, at, host(1))
	}
	p := s.Of(1)
	times := p.Rows().Column(record.ColTime)
	if !slices.Equal(times, []float64{10, 30, 30, 40}) || p.FirstMs != 10 || p.LastMs != 40 {
		t.Errorf("%v, from %v to %v", times, p.FirstMs, p.LastMs)
	}
}

func TestTheLatestValuesAreThoseThatAreNotTooOld(t *testing.T) {
	t.Parallel()
	s := newSet(Options{})
	s.Row(1, 0, []record.Cell{{Column: record.ColRSS, Value: 1}, {Column: record.ColGPU, Value: 2}})
	s.Row(1, 100, []record.Cell{{Column: record.ColGPU, Value: 4}, {Column: record.ColLive, Value: 3}})
	p := s.Of(1)
	gpu, live := record.Cell{Column: record.ColGPU, Value: 4}, record.Cell{Column: record.ColLive, Value: 3}
	if got := p.Latest(0); !slices.Equal(got, []record.Cell{gpu, live}) {
		t.Errorf("of the last row %v", got)
	}
	if got := p.Latest(100); !slices.Equal(got, []record.Cell{{Column: record.ColRSS, Value: 1}, gpu, live}) {
		t.Errorf("of the last 100 ms %v", got)
	}
	if row := p.Accounts().Row(false); row.Live != 3 || row.Untracked != 1 || row.Host != 1 {
		t.Errorf("accounts %+v", row)
	}
}

func TestRowsThatShouldHaveComeAreCountedWhereTheIntervalIsKnown(t *testing.T) {
	t.Parallel()
	s := newSet(Options{})
	s.Row(1, 0, host(1))
	if _, _, known := s.Sampled(); known {
		t.Error("without an interval nobody knows")
	}
	s.SetMeta(record.Meta{IntervalMs: 100})
	for _, at := range []float64{100, 210, 440, 800} { // one is late, and then three are missing
		s.Row(1, at, host(1))
	}
	if rows, missed, known := s.Sampled(); rows != 5 || missed != 2 || !known {
		t.Errorf("%d rows, %d missed, known %v", rows, missed, known)
	}
}

func TestOfProcessesThatHaveEndedTheLatestAreKept(t *testing.T) {
	t.Parallel()
	s := newSet(Options{KeepEnded: 4})
	s.SetMeta(record.Meta{PID: 1, IntervalMs: 1000})
	s.Row(1, 0, host(1))
	for pid := 2; pid < 100; pid++ {
		s.Row(pid, float64(pid)*10_000, host(1))
	}
	if s.Len() > 7 || s.Of(1) == nil || s.Of(99) == nil || s.Of(98) == nil || s.Of(2) != nil {
		t.Errorf("%d processes are kept", s.Len())
	}
	if last := 99 * 10_000.; s.Ended(s.Of(1), last) || s.Ended(s.Of(99), last) || !s.Ended(s.Of(98), last) {
		t.Error("the program and the latest run on, the one before has ended")
	}
	s.Keep(func(p *Process) bool { return p.PID == 1 })
	if s.Len() != 1 || s.Of(1) == nil {
		t.Errorf("%d processes are left", s.Len())
	}
}

func TestMemoryIsUnifiedAsTheOwnerSaysOrElseTheRun(t *testing.T) {
	t.Parallel()
	yes := true
	for _, c := range [...]struct {
		said account.Unified
		want bool
	}{{account.UnifiedAuto, true}, {account.UnifiedYes, true}, {account.UnifiedNo, false}} {
		s := newSet(Options{Judging: verdict.Options{Unified: c.said}})
		s.SetMeta(record.Meta{UnifiedMemory: &yes})
		if s.Unified() != c.want {
			t.Errorf("%s: unified %v", c.said, s.Unified())
		}
	}
}

func TestAFloodOfMarksLeavesWhatVerdictsRestOn(t *testing.T) {
	t.Parallel()
	var l log
	l.add(record.Event{Kind: record.KindPhase, Name: record.PhaseBaseline})
	sites := record.Event{Kind: record.KindSites, PID: 7, Sites: make([]record.Site, 3)}
	ages := record.Event{Kind: record.KindGenerations, PID: 7, Detail: []byte("{}")}
	l.add(sites)
	for i := range 5 * mostEvents {
		l.add(record.Event{TMs: float64(i), Kind: record.KindScope, Detail: []byte("{}")})
		l.add(record.Event{TMs: float64(i), Kind: record.KindStep})
	}
	for range 2 * mostLists {
		l.add(sites)
		l.add(ages)
	}
	lists, aged := 0, 0
	for _, e := range l.of(7) {
		switch {
		case e.Kind == record.KindGenerations && e.Detail != nil:
			aged++
		case e.Kind == record.KindStep || e.Detail != nil:
			t.Fatalf("%+v is kept", e)
		}
		if len(e.Sites) > 0 {
			lists++
		}
	}
	if len(l.events) > mostEvents || l.events[0].Name != record.PhaseBaseline ||
		lists != mostLists || aged != mostLists {
		t.Errorf("%d events, first %+v, %d lists, %d ages", len(l.events), l.events[0], lists, aged)
	}
	for range 3 * mostEvents {
		l.add(record.Event{Kind: record.KindPhase})
	}
	if len(l.events) > mostEvents {
		t.Errorf("%d phases are kept", len(l.events))
	}
	if n := len(l.of(8)); n != len(l.events) {
		t.Errorf("%d of %d events of the run are every process's", n, len(l.events))
	}
}

func TestRowsThatNobodyLooksAtAreBounded(t *testing.T) {
	t.Parallel()
	s := newSet(Options{Judges: Alarms, Pending: 10})
	leak(s, 3, 0, 100, func() {})
	if len(s.pending) != 10 {
		t.Errorf("%d rows wait", len(s.pending))
	}
}

// BenchmarkRow is a row of an instrumented program, as one of few and one of many.
func BenchmarkRow(b *testing.B) {
	for _, judges := range [...]Judges{Each, Online} {
		b.Run(fmt.Sprint(judges), func(b *testing.B) {
			s := newSet(Options{Judges: judges})
			cells := append(host(5),
				record.Cell{Column: record.ColGPU, Value: 5}, record.Cell{Column: record.ColLive, Value: 3})
			b.ReportAllocs()
			at := 0.
			for b.Loop() {
				at++
				s.Row(1, at, cells)
				if len(s.pending) > 1000 {
					s.pending = s.pending[:0]
				}
			}
		})
	}
}
