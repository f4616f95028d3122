package record

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestEventsOfALongRunAreThinnedAndNoStepIsMiscounted(t *testing.T) {
	t.Parallel()
	w, err := Create(filepath.Join(t.TempDir(), "run"), Meta{PID: 1, Start: time.Now()}, CreateOptions{Keep: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	followed := 0
	f := Follow(w.Dir(), time.Time{}, Taker{Event: func(e Event) {
		if e.Kind == KindHolders {
			followed++
		}
	}})
	defer f.Close()
	write := func(e Event) {
		t.Helper()
		if err := w.Event(e); err != nil {
			t.Fatal(err)
		}
	}
	const looks, stepsALook = 3000, 10
	write(Event{Kind: KindPhase, Name: PhaseBaseline})
	write(Event{Kind: KindProcess, PID: 1, Name: "main"})
	for i := range looks {
		at := float64(i) * 60_000
		for s := range stepsALook {
			write(Event{TMs: at + float64(s), PID: 1, Kind: KindStep})
		}
		for pid := range 2 {
			list := []Holder{{Path: fmt.Sprint("a", i), Bytes: int64(i)}, {Path: strings.Repeat("x", 100)}}
			write(Event{TMs: at + 100, PID: 1 + pid, Kind: KindHolders, Holders: list})
			write(Event{TMs: at + 100, PID: 1 + pid, Kind: KindSites, Sites: []Site{{Site: fmt.Sprint("s", i)}}})
		}
		write(Event{TMs: at + 200, PID: 1, Kind: KindFirstTouch, FirstTouch: &FirstTouch{Judgement: "churn"}})
		if i%5 == 0 {
			all(t, f)
		}
	}
	write(Event{TMs: looks * 60_000, PID: 1, Kind: KindStep})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if all(t, f); followed != 2*looks {
		t.Errorf("%d looks were followed", followed)
	}
	if n := folderSize(t, w.Dir()); n > 8<<20/32*2 {
		t.Errorf("the folder takes %d bytes", n)
	}
	run, err := Open(w.Dir())
	if err != nil || len(run.Warnings) != 1 { // there are no samples
		t.Fatal(err, run.Warnings)
	}
	count, last := map[string]int{}, map[string]Event{}
	steps := map[int]int64{}
	k := newEventKeeper()
	for _, e := range run.Events {
		count[e.Kind]++
		last[fmt.Sprint(e.Kind, e.PID)] = e
		if e.Kind == KindStep {
			k.count(&e, steps, false)
		}
	}
	if steps[1] != looks*stepsALook+1 {
		t.Errorf("%d steps are counted", steps[1])
	}
	for _, pid := range []string{"1", "2"} {
		if h := last[KindHolders+pid].Holders; len(h) == 0 || h[0].Path != fmt.Sprint("a", looks-1) {
			t.Errorf("the last look at %s is %v", pid, h)
		}
	}
	if count[KindPhase] != 1 || count[KindProcess] != 1 || count[KindHolders] < 50 || count[KindSites] < 50 ||
		count[KindFirstTouch] < 20 || int64(len(run.Events))+run.Meta.Sampling.ThinnedEvents != w.Stats().Events {
		t.Errorf("%v are left", count)
	}
	if !slices.IsSortedFunc(run.Events, func(a, b Event) int { return int(a.TMs - b.TMs) }) {
		t.Error("the events are out of order")
	}
}
