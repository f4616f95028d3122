package verdict

import (
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
