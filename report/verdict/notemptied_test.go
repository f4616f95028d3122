package verdict

import (
	"math"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// A program with a list that gets longer at each look, which a line may empty.
func TestAListThatMayYetBeEmptiedIsOpenInAYoungProgram(t *testing.T) {
	t.Parallel()
	const each = 128 * kib
	judged := func(rows int, told func(h *record.Holder, look int)) *Verdict {
		p := newProgram(rows)
		p.meta.Versions = map[string]string{"python": "3.12"}
		p.grows(record.ColRSS, 80*mib, 0, each).grows(record.ColFootprint, 80*mib, 0, each)
		p.lookedAt("list main() local day.bands", each, 0)
		for i := range p.events {
			for j := range p.events[i].Holders {
				told(&p.events[i].Holders[j], i)
			}
		}
		return p.judge()
	}
	empties := func(h *record.Holder, _ int) { h.Emptied = "/app/market.py:78 close" }
	v := judged(400, empties)
	const why = "nothing was seen to leave it yet: /app/market.py:78 in close takes"
	if v.Verdict != Undecided || !strings.Contains(v.Answer, why) {
		t.Errorf("a line empties it: %s", v.Answer)
	}
	aged := func(after float64) func(h *record.Holder, look int) {
		return func(h *record.Holder, look int) {
			empties(h, look)
			h.EmptiedAfter, h.Before, h.Stayed = after, int64(look), int64(look)
		}
	}
	for _, after := range []float64{20, 60, 14_000} { // the last look is at 16 s
		if v := judged(400, aged(after)); v.Verdict != Undecided {
			t.Errorf("what is older than %g may go: %s", after, v.Answer)
		}
	}
	gone := func(after float64) func(h *record.Holder, look int) {
		return func(h *record.Holder, look int) {
			empties(h, look)
			if h.EmptiedAfter = after; look == 3 {
				h.Before, h.Stayed = 20, 12
			}
		}
	}
	const fills = "may still be filling up: /app/market.py:78 in close has begun to take"
	for _, after := range []float64{0, 14, 14_000} {
		if v := judged(400, gone(after)); v.Verdict != Undecided || !strings.Contains(v.Answer, fills) {
			t.Errorf("what was older than %g has gone: %s", after, v.Answer)
		}
	}
	full := func(h *record.Holder, look int) {
		if gone(9)(h, look); look == 3 {
			h.Length = 200 // of 180 at the look before
		}
	}
	if v := judged(400, full); v.Verdict == HostGrowth {
		t.Errorf("it gets no longer once it is full: %s", v.Answer)
	}
	for what, v := range map[string]*Verdict{
		"it should be gone":             judged(400, aged(4)),
		"it should be, of milliseconds": judged(400, aged(2_000)),
		"no line does":                  judged(400, func(*record.Holder, int) {}),
		"it is no longer":               judged(800, empties),
		"it should be full":             judged(400, aged(9_000)),
		"it should be, though some go":  judged(400, gone(9)),
		"some go of a grown-up program": judged(800, gone(0)),
	} {
		if v.Verdict != HostGrowth {
			t.Errorf("%s: %s", what, v.Answer)
		}
	}
}

// Sessions last for some seconds: until the first of them ends, the table that has them only gets longer.
func TestAListOutOfWhichSingleElementsAreTakenIsOpenForSomeSeconds(t *testing.T) {
	t.Parallel()
	const each = 128 * kib
	judged := func(rows int, told func(h *record.Holder)) *Verdict {
		p := newProgram(rows)
		p.meta.Versions = map[string]string{"python": "3.12"}
		p.grows(record.ColRSS, 80*mib, 0, each).grows(record.ColFootprint, 80*mib, 0, each)
		p.lookedAt("dict main() local desk.sessions", each, 0)
		for i := range p.events {
			told(&p.events[i].Holders[0])
		}
		return p.judge()
	}
	ends := func(h *record.Holder) { h.Taken = "/app/desk.py:81 leave" }
	v := judged(190, ends)
	if v.Verdict != Undecided || !strings.Contains(v.Answer, "/app/desk.py:81 in leave takes something out of it") {
		t.Errorf("a line takes sessions out: %s", v.Answer)
	}
	gone := func(h *record.Holder) { ends(h); h.Before, h.Stayed = 20, 19 }
	most := func(h *record.Holder) { ends(h); h.Before, h.Stayed = 20, 9 }
	if v := judged(190, most); v.Verdict != Undecided {
		t.Errorf("most of them end: %s", v.Answer)
	}
	ran := func(length int64) func(h *record.Holder) {
		return func(h *record.Holder) {
			ends(h)
			h.TakenRan, h.Length = h.OverMs < 5_000, length*h.Length
			h.Before = 20 + int64(h.OverMs/1000)
			h.Stayed = h.Before
		}
	}
	if v := judged(190, ran(9)); v.Verdict != Undecided {
		t.Errorf("sessions end that are older than 5 s: %s", v.Answer)
	}
	young := func(h *record.Holder) {
		if ran(1)(h); h.OverMs >= 4_000 {
			h.Before, h.Stayed = 6, 6
		}
	}
	if v := judged(150, young); v.Verdict != Undecided {
		t.Errorf("sessions end, and few are older: %s", v.Answer)
	}
	ended := func(h *record.Holder) { ran(1)(h); h.Before, h.Stayed = 20, 9 }
	if v := judged(190, ended); v.Verdict != Undecided {
		t.Errorf("most of them end, the first soon: %s", v.Answer)
	}
	for what, v := range map[string]*Verdict{
		"others end soon":         judged(190, ran(1)),
		"no line does":            judged(190, func(*record.Holder) {}),
		"some were seen to end":   judged(190, gone),
		"sessions should be over": judged(400, ends),
	} {
		if v.Verdict != HostGrowth {
			t.Errorf("%s: %s", what, v.Answer)
		}
	}
}

// Of sessions that last for up to 20 s half are gone after some seconds, and half of the rest after some more. Of those
// that end in one way, where others are left, the rest stays.
func TestSessionsOfWhichManyEndAreOpenUntilTheRestIsSeenToStay(t *testing.T) {
	t.Parallel()
	const each = 128 * kib
	judged := func(told func(h *record.Holder, look int)) *Verdict {
		p := newProgram(380)
		p.meta.Versions = map[string]string{"python": "3.12"}
		p.grows(record.ColRSS, 80*mib, 0, each).grows(record.ColFootprint, 80*mib, 0, each)
		p.lookedAt("dict main() local desk.sessions", each, 0)
		for i := range p.events {
			h := &p.events[i].Holders[0]
			h.Taken, h.TakenRan = "/app/desk.py:81 leave", true
			told(h, i)
		}
		return p.judge()
	}
	const begun = "/app/desk.py:81 in leave has begun to take elements out of it"
	stayed := func(h *record.Holder, look int, stayed int64) {
		if look >= 2 { // it is told again
			h.Before, h.Stayed = 30, stayed
		}
	}
	for what, told := range map[string]func(h *record.Holder, look int){
		"nobody asked again": func(h *record.Holder, look int) { stayed(h, look, 18) },
		"as many go": func(h *record.Holder, look int) {
			if stayed(h, look, 18); look == 3 {
				h.Old, h.OldStayed, h.OldOverMs = 18, 9, 4_000
			}
		},
		"they were just asked": func(h *record.Holder, look int) {
			if stayed(h, look, 18); look == 3 {
				h.Old, h.OldStayed, h.OldOverMs = 18, 18, 500
			}
		},
	} {
		if v := judged(told); v.Verdict != Undecided || !strings.Contains(v.Answer, begun) {
			t.Errorf("%s: %s", what, v.Answer)
		}
	}
	for what, told := range map[string]func(h *record.Holder, look int){
		"few went": func(h *record.Holder, look int) { stayed(h, look, 27) },
		"the rest stays": func(h *record.Holder, look int) {
			if stayed(h, look, 18); look == 3 {
				h.Old, h.OldStayed, h.OldOverMs = 18, 18, 4_000
			}
		},
		"the rest stays at last": func(h *record.Holder, look int) {
			switch stayed(h, look, 18); look {
			case 2:
				h.Old, h.OldStayed, h.OldOverMs = 18, 14, 1_000
			case 3:
				h.Old, h.OldStayed, h.OldOverMs = 18, 14, 9_000
			}
		},
	} {
		if v := judged(told); v.Verdict != HostGrowth {
			t.Errorf("%s: %s", what, v.Answer)
		}
	}
}

// What a pool has idle beside live blocks grows with these: as long as a window of them fills, it may be nothing else.
func TestAPoolBesideAWindowThatFillsIsOpen(t *testing.T) {
	t.Parallel()
	judged := func(live float64, after float64) *Verdict {
		p := newProgram(260).healthy()
		p.meta.Versions = map[string]string{"python": "3.12"}
		p.set(record.ColLive, func(i int) float64 { return 60*mib + live*math.Min(float64(i), 190) }).
			set(record.ColIdle, func(i int) float64 { return 20*mib + 64*kib*float64(i) }).
			set(record.ColGPU, func(i int) float64 { return 700*mib + 64*kib*float64(i) + live*math.Min(float64(i), 190) })
		p.lookedAt("deque main() local window.maps", int64(live), 0)
		for i := range p.events {
			p.events[i].Holders[0].Emptied, p.events[i].Holders[0].EmptiedAfter = "/app/crown.py:76 add", after
		}
		return p.judge()
	}
	if v := judged(256*kib, 12); v.Verdict != Undecided || !strings.Contains(v.Answer, "/app/crown.py:76 in add takes") {
		t.Errorf("it fills: %s", v.Answer)
	}
	if v := judged(256*kib, 2); v.Verdict != PoolGrowth {
		t.Errorf("it should be full: %s", v.Answer)
	}
	if v := judged(kib, 12); v.Verdict != PoolGrowth {
		t.Errorf("what is live grows by less: %s", v.Answer)
	}
}

// A heap creeps under sessions that come and go: as many as before hold none of that.
func TestAListThatIsAsLongAsBeforeHoldsNoGrowthOfTheHost(t *testing.T) {
	t.Parallel()
	judged := func(lengths ...int64) *Verdict {
		p := newProgram(400)
		p.meta.Versions = map[string]string{"python": "3.12"}
		creeps := func(i int) float64 { return (80+1.8*float64(i)/20)*mib + 5*mib*math.Sin(float64(i)/33) }
		p.set(record.ColRSS, creeps).set(record.ColFootprint, creeps)
		p.lookedAt("dict main() local court.hearings", 128*kib, 0)
		for i := range p.events {
			h := &p.events[i].Holders[0]
			if h.Length = lengths[i]; i > 0 {
				h.Before, h.Stayed = lengths[i-1], 2
			}
		}
		return p.judge()
	}
	if v := judged(13, 19, 21, 20); strings.Contains(v.Answer, "hearings") || len(v.Causes) > 0 {
		t.Errorf("as long as before: %s", v.Answer)
	}
	if v := judged(13, 33, 70, 140); v.Verdict != HostGrowth || !strings.Contains(v.Answer, "hearings") ||
		len(v.Causes) == 0 {
		t.Errorf("longer and longer: %s", v.Answer)
	}
}

// Below working sets that come and go a container grows, and so does what the pool keeps idle between them.
func TestAPoolThatGrowsLessThanAContainerBesideItIsOpen(t *testing.T) {
	t.Parallel()
	judged := func(each int64) *Verdict {
		p := newProgram(260).healthy()
		p.meta.Versions = map[string]string{"python": "3.12"}
		swell := func(i int) float64 { return 150 * mib * float64(i/30%2) }
		p.set(record.ColLive, func(i int) float64 { return 60*mib + swell(i) + float64(each)*float64(i) }).
			set(record.ColIdle, func(i int) float64 { return 170*mib + 64*kib*float64(i) }).
			set(record.ColGPU, func(i int) float64 { return 900*mib + (64*kib+float64(each))*float64(i) })
		return p.lookedAt("deque main() local watch.blocks", each, 0).judge()
	}
	if v := judged(256 * kib); v.Verdict == PoolGrowth {
		t.Errorf("it grows by four times as much: %s", v.Answer)
	}
	if v := judged(4 * kib); v.Verdict != PoolGrowth {
		t.Errorf("it grows by less: %s", v.Answer)
	}
}

func TestTheChanceThatFewGo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		some, n    int64
		goes, want float64
	}{{0, 6, .5, 1. / 64}, {1, 6, .5, 7. / 64}, {6, 6, .5, 1}, {0, 0, .5, 1}, {0, 4, 0, 1}} {
		if got := atMost(c.some, c.n, c.goes); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("at most %d of %d: %v, want %v", c.some, c.n, got, c.want)
		}
	}
}
