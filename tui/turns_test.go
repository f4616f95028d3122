package tui

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/verdict"
)

// turnedFeed is the fixed run whose verdict turns twice, each time with its reason.
func turnedFeed() (*Feed, *fixedClock) {
	f, clock := leakFeed(true)
	p := f.of(4711)
	p.Judged.Turns, p.Judged.Verdict, p.Judged.Looks = nil, nil, 0
	for i, v := range []verdict.Verdict{
		{Verdict: verdict.None, Answer: "none (likely, 90 %): nothing grew for 4 s"},
		{Verdict: verdict.AppLeak, Answer: "app-leak: live memory grew with every step"},
		{Verdict: verdict.DriverGrowth, Answer: "the heap stayed as it was", Claim: "host memory grows"},
	} {
		p.Judged.Take(&v, float64(10000*(i+1)), true)
		f.mu.Lock()
		f.tellTurn()
		f.tellTurn() // a look that changes nothing tells nothing
		f.mu.Unlock()
	}
	return f, clock
}

func TestAVerdictThatTurnedSaysWhyAmongTheEventsAndInItsPanel(t *testing.T) {
	t.Parallel()
	f, clock := turnedFeed()
	f.mu.Lock()
	fr := f.frame(clock.now)
	f.mu.Unlock()
	var events []string
	panel := eventsPanel{newStyles(Appearance{}), fr, false, 0}
	for i := range fr.Events {
		if fr.Events[i].Kind == eventVerdict {
			events = append(events, panel.line(&fr.Events[i]))
		}
	}
	got := strings.Join(events, "\n")
	want := "   0:10.0 verdict none: nothing grew for 4 s\n" +
		"   0:20.0 verdict none → app-leak: live memory grew with every step\n" +
		"   0:30.0 verdict app-leak → driver-growth: the heap stayed as it was"
	if got != want {
		t.Errorf("events\n%s\nwant\n%s", got, want)
	}
	text := strings.Join(verdictPanel{newStyles(Appearance{}), fr, false, 0}.lines(200), "\n")
	last := "at 0:30.0 it turned from app-leak to driver-growth: the heap stayed as it was"
	first := "at 0:20.0 it turned from none to app-leak: live memory grew with every step"
	if a, b := strings.Index(text, last), strings.Index(text, first); a < 0 || b < a ||
		strings.Contains(text, "nothing grew for 4 s") {
		t.Errorf("the panel:\n%s", text)
	}
}
