package verdict

import (
	"math"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// sharing is a program without a device whose heap grows by 400 KiB a row, looked at
// three times and at its end; each holder gets so many bytes a row, in an element.
func sharing(perRow map[string]int64, paths ...string) *program {
	const each = 400 * kib
	p := newProgram(800).grows(record.ColRSS, 300*mib, 64*kib, each).
		grows(record.ColHostHeap, 200*mib, 16*kib, each)
	before := 0.
	for _, at := range []float64{6, 10, 18, 39.9} {
		var list []record.Holder
		for _, path := range paths {
			h := record.Holder{Path: path, Length: int64(at * 20), Filled: "/app/serve.py:12 answer",
				Count: int64((at - before) * 20), OverMs: 1000 * (at - before)}
			h.Bytes = perRow[path] * h.Count
			if at > 39 {
				h.OverMs, h.Bytes = 0, perRow[path]*int64(20*(at-6))
			}
			list = append(list, h)
		}
		before = at
		p.events = append(p.events, record.Event{TMs: at * 1000, Kind: record.KindHolders, Holders: list})
	}
	return p
}

const (
	handlers = "list logging.Logger.manager.loggerDict['service'].handlers"
	history  = "list serve.history"
)

func TestTwoFaultsAreBothNamedWithWhatEachHasOfTheGrowth(t *testing.T) {
	t.Parallel()
	v := sharing(map[string]int64{history: 260 * kib, handlers: 120 * kib}, history, handlers).judge()
	if v.Verdict != HostGrowth || len(v.Parts) != 2 || v.Parts[0].Holder != history || v.Parts[1].Holder != handlers {
		t.Fatalf("%s %+v", v.Answer, v.Parts)
	}
	for i, share := range []float64{.65, .30} {
		if p := v.Parts[i]; math.Abs(p.Share-share) > .05 || p.Bytes <= 0 || p.Without <= 0 {
			t.Errorf("%+v, want a share of %.2f", p, share)
		}
	}
	for _, want := range []string{history + " has about 6", handlers + " has about ", "; without the first it would have grown by ",
		"causes: results kept (", "loggers added ("} {
		if !strings.Contains(v.Answer, want) {
			t.Errorf("no %q in %s", want, v.Answer)
		}
	}
	if !strings.Contains(v.Next, "; then see to "+handlers) {
		t.Errorf("next: %s", v.Next)
	}
}

func TestPartsAndCausesOfAGrowthAreNoMoreThanTheWhole(t *testing.T) {
	t.Parallel()
	// Both are estimated at more than they have: each array is counted with what it is a view of.
	v := sharing(map[string]int64{history: 380 * kib, handlers: 200 * kib}, history, handlers).judge()
	parts, causes, bytes := 0., 0., int64(0)
	for _, p := range v.Parts {
		parts, bytes = parts+p.Share, bytes+p.Bytes
	}
	for _, c := range v.Causes {
		if c.Share != nil {
			causes += *c.Share
		}
	}
	if len(v.Parts) != 2 || parts > 1.0001 || causes > 1.0001 || bytes > *rowOf(v, Host).Bytes+2 {
		t.Errorf("parts %.3f, causes %.3f, %d B: %s", parts, causes, bytes, v.Answer)
	}
}

func TestOneHolderThatExplainsAGrowthSharesItWithNobody(t *testing.T) {
	t.Parallel()
	v := sharing(map[string]int64{history: 380 * kib, handlers: 4 * kib}, history, handlers).judge()
	if len(v.Parts) != 0 || strings.Contains(v.Answer, "of what grew") {
		t.Errorf("%s", v.Answer)
	}
	// What is in a list lies below it, and is no other part.
	below := "list in " + history
	v = sharing(map[string]int64{history: 380 * kib, below: 380 * kib}, history, below).judge()
	if len(v.Parts) != 0 {
		t.Errorf("%s", v.Answer)
	}
	v = sharing(map[string]int64{history: 120 * kib}, history).judge()
	if len(v.Parts) != 1 || !strings.Contains(v.Answer, "; of what grew, "+history+" has about 3") {
		t.Errorf("a third of it: %s", v.Answer)
	}
}

// What an optimizer keeps was there before, and is no cause beside a list that grows.
func TestWhatWasThereBeforeIsNoCauseBesideAnother(t *testing.T) {
	t.Parallel()
	const each = 256 * kib
	p := newProgram(400).healthy().grows(record.ColLive, 60*mib, 0, each).
		set(record.ColGPU, func(i int) float64 { return 700*mib + each*float64(i) }).
		lookedAt("list train.history", each, 0)
	kept := record.Holder{Path: "list train.history", Bytes: 95 * mib, Count: 380, Length: 400}
	state := record.Holder{Path: "defaultdict train.optimizer.state", Bytes: 30 * mib, Count: 8, Length: 4}
	p.events = append(p.events, record.Event{TMs: 19_950, Kind: record.KindHolders,
		Holders: []record.Holder{kept, state}})
	v := p.judge()
	if v.Verdict != AppLeak || len(v.Causes) != 1 || *v.Causes[0].Share < .9 || len(v.Parts) != 0 {
		t.Errorf("%s %+v %+v", v.Answer, v.Causes, v.Parts)
	}
}
