package verdict

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// handedOut adds a window of a device's blocks that ended at a second.
func (p *program) handedOut(second float64, sites ...record.Site) *program {
	detail, _ := json.Marshal(record.SiteWindow{Seconds: 2.5})
	e := record.Event{TMs: second * 1000, Kind: record.KindBlockSites, Sites: sites, Detail: detail}
	p.events = append(p.events, e)
	return p
}

func TestTheLineThatAskedForWhatStaysOfADeviceIsNamed(t *testing.T) {
	t.Parallel()
	const rate = 20 * mib // a second: one a row
	asks := func(at string, seconds float64) record.Site {
		return record.Site{Site: "/srv/app/model.py:" + at, Bytes: int64(seconds * rate), Count: 4,
			Caller: "/srv/app/train.py:61 main"}
	}
	segments := record.Event{TMs: 39_900, Kind: record.KindDriverSites, Sites: []record.Site{
		{Site: "/srv/app/train.py:9 load", Bytes: 780 * mib, GrowthBytes: 700 * mib, Count: 390}}}
	growing := func() *program {
		p := newProgram(800).healthy()
		p.set(record.ColLive, func(i int) float64 { return 60*mib + mib*float64(i) }).
			set(record.ColGPU, func(i int) float64 { return 640*mib + mib*float64(i) })
		p.events = append(p.events, segments)
		return p.with("torch")
	}
	held := func(p *program, path, filled string) *program {
		p = p.lookedAt(path, mib, 0)
		for _, e := range p.events {
			for i := range e.Holders {
				e.Holders[i].Filled = filled
			}
		}
		return p
	}
	const inner = "; allocated at app/model.py:36 in embed."
	const called = "; allocated at app/model.py:36 in forward, called at app/train.py:61 in main."
	const taken = "; taken from the driver at app/train.py:9 in load."
	for name, c := range map[string]struct {
		p    *program
		want string
	}{
		"all of it":          {growing().handedOut(20, asks("36 embed", 2.5)), inner},
		"in two windows":     {growing().handedOut(20, asks("36 embed", 2)).handedOut(35, asks("36 embed", 3)), inner},
		"a function of many": {growing().handedOut(20, asks("36 forward", 2.5)), called},
		"a tenth of it":      {growing().handedOut(20, asks("36 embed", .25)), taken},
		"what did not go on": {growing().handedOut(20, asks("36 embed", 25)), taken},
		"beside what fills a list": {held(growing(), "list main() local kept", "/srv/app/train.py:61 main").
			handedOut(20, asks("36 embed", 2.5)), "; allocated at app/model.py:36 in embed; cause: results kept."},
		"what is said already": {held(growing(), "list main() local kept", "/srv/app/model.py:36 embed").
			handedOut(20, asks("36 embed", 2.5)), "more with every step; cause: results kept."},
	} {
		v := c.p.judge()
		if v.Verdict != AppLeak || !strings.HasSuffix(v.Answer, c.want) {
			t.Errorf("%s: %s\nwant at its end: %s", name, v.Answer, c.want)
		}
	}
	v := growing().handedOut(20, asks("36 embed", 2.5)).judge()
	if !strings.Contains(v.Next, "allocated at app/model.py:36 in embed") {
		t.Errorf("next: %s", v.Next)
	}
}

// What libraries take while a device is young has no line of the program's.
func TestLinesThatAskedForWhatGrowsAreBelievedWhileTheDeviceIsYoung(t *testing.T) {
	t.Parallel()
	const rate = 5 * mib // a second
	window := func(p *program, part float64, samples int64) *program {
		asked := record.Site{Site: "/srv/app/model.py:36 embed", Bytes: int64(2.5 * part * rate), Count: samples}
		return p.handedOut(8.5, asked)
	}
	more := map[string]int{}
	for seed := range uint64(60) {
		begun := func() *program { return early(175, seed, 2*mib) }
		alone := begun().judge()
		for name, p := range map[string]*program{
			"all of it":     window(begun(), 1, 20),
			"a fifth of it": window(begun(), .2, 20),
			"two samples":   window(begun(), 1, 2),
		} {
			v := p.judge()
			if alone.Verdict == AppLeak && v.Verdict != AppLeak {
				t.Errorf("%s took back: %s", name, v.Summary)
			}
			if alone.Verdict == Undecided && v.Verdict == AppLeak {
				more[name]++
			}
		}
	}
	if more["all of it"] < 8 || more["a fifth of it"]+more["two samples"] > 0 {
		t.Errorf("decided more of 60: %v", more)
	}
}

func TestWhatStaysIsATableOfTheLinesOfAllWindows(t *testing.T) {
	t.Parallel()
	asks := func(at, caller string, bytes int64) record.Site {
		return record.Site{Site: "/srv/app/model.py:" + at, Bytes: bytes * mib, Count: 4, Caller: caller}
	}
	p := newProgram(800).healthy().with("torch").
		set(record.ColLive, func(i int) float64 { return 60*mib + mib*float64(i) }).
		set(record.ColGPU, func(i int) float64 { return 640*mib + mib*float64(i) }).
		handedOut(15, asks("36 forward", "", 40), asks("50 cells", "", 9)).
		handedOut(30, asks("36 forward", "/srv/app/train.py:61 main", 50))
	v := p.judge()
	if len(v.Stays) != 2 || v.Stays[0].Bytes != 90*mib || v.Stays[0].Count != 8 ||
		v.Stays[0].Caller != "/srv/app/train.py:61 main" || v.Stays[1].Bytes != 9*mib {
		t.Fatalf("%+v", v.Stays)
	}
	if grew := v.Stays[0].GrowthBytes; grew < 600*mib || grew > 760*mib { // 18 MiB a second, of some 40 s
		t.Errorf("would come to %d MiB", grew/mib)
	}
	less := p.handedOut(36).judge().Stays // nothing stayed in a third window
	if part := float64(less[0].GrowthBytes) / float64(v.Stays[0].GrowthBytes); part < .6 || part > .7 {
		t.Errorf("would come to %.2f of what it would without that window", part)
	}
	if v := newProgram(800).healthy().with("torch").handedOut(15, asks("36 forward", "", 40)).judge(); v.Stays != nil {
		t.Errorf("nothing grows: %+v", v.Stays)
	}
}

// What a window's second half shows to stay counts where that lies in the growth.
func TestAWindowCountsThatWasClosedWellAfterTheGrowthBegan(t *testing.T) {
	t.Parallel()
	rises := func(i int) float64 { return 60*mib + mib*float64(max(0, i-600)) } // from the 30th second on
	site := record.Site{Site: "/srv/app/model.py:36 forward", Bytes: 40 * mib, Count: 4}
	for second, want := range map[float64]int{28: 0, 32: 0, 33.5: 1, 36: 1} {
		p := newProgram(1200).healthy().with("torch").set(record.ColLive, rises).
			set(record.ColGPU, func(i int) float64 { return 600*mib + rises(i) }).handedOut(second, site)
		if v := p.judge(); v.Verdict != AppLeak || len(v.Stays) != want {
			t.Errorf("closed after %v s: %s, lines %v", second, v.Summary, v.Stays)
		}
	}
}
