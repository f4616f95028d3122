package verdict

import (
	"math"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/cause"
	"github.com/gpumem/gpumem/tracer/record"
)

// leaping is a program whose live bytes rise by so many at each of some leaps, held in a
// dictionary that two looks found, with what it had then.
func leaping(leaps int, bytes float64, lengths ...int64) *program {
	const rows = 900
	at := func(i int) int { return (i*leaps + rows/2) / rows }
	live := func(i int) float64 { return 60*mib + bytes*float64(at(i)) }
	p := newProgram(rows).healthy()
	p.flat(record.ColLiveCount, 40, 1).set(record.ColGPU, func(i int) float64 { return 700*mib + live(i) })
	p.set(record.ColLive, func(i int) float64 { return live(i) + mib*p.r.NormFloat64() })
	p.meta.Versions = map[string]string{"python": "3.11.2"}
	for n, length := range lengths {
		seconds := float64(15 + 20*n)
		h := record.Holder{Path: "dict main() local forecaster.fits", Length: length, Count: 12,
			OverMs: 15_000, Bytes: int64(15 * 20 * bytes * float64(leaps) / rows)}
		p.events = append(p.events, record.Event{TMs: 1000 * seconds, Kind: record.KindHolders,
			Holders: []record.Holder{h}})
	}
	return p
}

func TestASetOfAFewLargeThingsMayStillBeFilling(t *testing.T) {
	t.Parallel()
	seen := false
	for leaps := 4; leaps <= 14; leaps++ {
		bare, many := leaping(leaps, 12*mib).judge(), leaping(leaps, 12*mib, 9, 20).judge()
		v := leaping(leaps, 12*mib, 1, 5).judge()
		if many.Verdict != AppLeak || many.Tier == Confirmed || bare.Verdict != AppLeak {
			continue
		}
		seen = true
		if v.Verdict != Undecided || !strings.Contains(v.Answer, "forecaster.fits had only 5 elements at the last look") {
			t.Errorf("%d leaps: %s", leaps, v.Answer)
		}
		if v := leaping(leaps, 12*mib, 5, 5).judge(); v.Verdict != AppLeak {
			t.Errorf("%d leaps of what grows in as many elements: %s", leaps, v.Answer)
		}
	}
	if !seen {
		t.Error("no growth in leaps is likely")
	}
}

// The best epochs of a program on the processor: by the trend they are a growth of the host.
func TestASetOfAFewLargeThingsOfTheHostMayStillBeFilling(t *testing.T) {
	t.Parallel()
	judged := func(leaps int, lengths ...int64) *Verdict {
		const rows, bytes = 200, 5 * mib
		p := newProgram(rows)
		host := func(i int) float64 { return 160*mib + bytes*float64((i*leaps+rows/2)/rows) }
		for _, column := range [...]string{record.ColRSS, record.ColRSSAnon, record.ColFootprint, record.ColHostHeap} {
			p.set(column, func(i int) float64 { return host(i) + mib*p.r.NormFloat64() })
		}
		p.meta.Versions = map[string]string{"python": "3.11.2"}
		for n, length := range lengths {
			h := record.Holder{Path: "dict main() local shelf.best", Length: length, Count: 12, OverMs: 3000, Bytes: 9 * mib}
			p.events = append(p.events, record.Event{TMs: float64(4000 + 4000*n), Kind: record.KindHolders,
				Holders: []record.Holder{h}})
		}
		return p.judge()
	}
	seen := false
	for leaps := 3; leaps <= 14; leaps++ {
		if v := judged(leaps, 9, 20); v.Verdict != HostGrowth || v.Tier == Confirmed {
			continue
		}
		seen = true
		v := judged(leaps, 1, 5)
		if v.Verdict != Undecided || !strings.Contains(v.Answer, "had only 5 elements at the last look") {
			t.Errorf("%d leaps: %s", leaps, v.Answer)
		}
	}
	if !seen {
		t.Error("no growth in leaps is likely")
	}
}

// A list that the program only adds to is no set of a few things, and nor is a dictionary of states.
func TestWhatIsOnlyAddedToNeedsFewerElements(t *testing.T) {
	t.Parallel()
	judged := func(leaps int, path, kind string, only bool, last int64) *Verdict {
		p := leaping(leaps, 12*mib, 1, last)
		for i := range p.events {
			for j := range p.events[i].Holders {
				h := &p.events[i].Holders[j]
				h.Path, h.Kind, h.OnlyAdded = path, kind, only
			}
		}
		return p.judge()
	}
	const list, dict = "list main() local forecaster.fits", "dict main() local forecaster.fits"
	seen := false
	for leaps := 4; leaps <= 14; leaps++ {
		if v := leaping(leaps, 12*mib, 9, 20).judge(); v.Verdict != AppLeak || v.Tier == Confirmed {
			continue
		}
		seen = true
		for what, v := range map[string]*Verdict{
			"a list": judged(leaps, list, "", true, 5), "states": judged(leaps, dict, "snapshots-kept", true, 5),
		} {
			if v.Verdict != AppLeak {
				t.Errorf("%d leaps, %s: %s", leaps, what, v.Answer)
			}
		}
		for what, v := range map[string]*Verdict{
			"something is taken out": judged(leaps, list, "", false, 5), "by key": judged(leaps, dict, "", true, 5),
			"four": judged(leaps, list, "", true, 4),
		} {
			if v.Verdict != Undecided {
				t.Errorf("%d leaps, %s: %s", leaps, what, v.Answer)
			}
		}
	}
	if !seen {
		t.Error("no growth in leaps is likely")
	}
}

func TestAFewHandlesWithoutBytesAreOpen(t *testing.T) {
	t.Parallel()
	judge := func(more float64, driver string) *Verdict {
		const rows = 900
		p := newProgram(rows).healthy()
		p.flat(record.ColLive, 60*mib, mib/4).set(record.ColLiveCount, func(i int) float64 {
			return 400 + math.Floor(more*float64(i)/rows)
		})
		p.meta.Driver = driver
		return p.judge()
	}
	held := func(path, kind string, each int64, isAdded bool) *Verdict {
		p := newProgram(200).healthy()
		p.flat(record.ColLive, 60*mib, 5*mib).set(record.ColLiveCount, func(i int) float64 {
			return 400 + math.Floor(90*float64(i)/200)
		})
		p.meta.Driver, p.meta.Versions = "cuda", map[string]string{"python": "3.12"}
		p.lookedAt(path, each, 0)
		for _, e := range p.events {
			h := &e.Holders[0]
			h.Kind, h.OnlyAdded = kind, isAdded
		}
		return p.judge()
	}
	const list = "list main() local bulletin.settlements"
	if v := held(list, "", mib/4, true); v.Verdict != AppLeak {
		t.Errorf("a list that is only added to has them: %s", v.Answer)
	}
	for what, v := range map[string]*Verdict{
		"a cache has them": held(list, cause.Caches, mib/4, true),
		"small ones":       held(list, "", kib, true),
		"some may go":      held(list, "", mib/4, false),
	} {
		if v.Verdict != Undecided || !strings.Contains(v.Answer, "a small set that still fills") {
			t.Errorf("%s: %s", what, v.Answer)
		}
	}
	v := judge(50, "cuda")
	if v.Verdict != Undecided || !strings.Contains(v.Answer, "live handles rose by only 49, and their bytes") {
		t.Error(v.Answer)
	}
	for more, driver := range map[float64]string{50: "apple", 900: "cuda"} {
		if v := judge(more, driver); v.Verdict != AppLeak {
			t.Errorf("%v more on %s: %s", more, driver, v.Answer)
		}
	}
}
