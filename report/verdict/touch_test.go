package verdict

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// TestFirstTouchTellsTheDriverFromTheProgram uses the shares measured on real
// programs: the host account alone cannot tell these apart.
func TestFirstTouchTellsTheDriverFromTheProgram(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		judgement string
		owners    []record.TouchOwner
		heap      bool // the heap column grows along, as malloc in a driver makes it
		counted   bool // the driver's handles, of which there are no more
		class     Class
		words     string
	}{
		"events never destroyed": {"growth", []record.TouchOwner{{Library: "libcuda", Share: .998}}, true, false,
			DriverGrowth, "libcuda (100 %)"},
		"results copied to the host": {"growth", []record.TouchOwner{{Library: "libcuda", Share: .98}}, true, true,
			HostGrowth, "libcuda (98 %), as results copied from the device are"},
		"results copied to memory that nobody tells of": {"growth", []record.TouchOwner{{Library: "libcuda", Share: .96}},
			false, true, HostGrowth, "libcuda (96 %), as results copied from the device are"},
		"graphs kept": {"growth", []record.TouchOwner{{Library: "libcuda", Share: .75},
			{Library: "libstdc++", Share: .23}}, false, false, DriverGrowth, "libcuda (75 %)"},
		"NumPy arrays": {"growth", []record.TouchOwner{{Library: "_multiarray_umath", Share: 1}}, false, false,
			HostGrowth, "_multiarray_umath (100 %)"},
		"a compile cache": {"growth", []record.TouchOwner{{Library: "xla_cuda_plugin", Share: .69},
			{Library: "libstdc++", Share: .29}}, false, false, HostGrowth, "xla_cuda_plugin (69 %)"},
		"churn tells nothing": {"churn", []record.TouchOwner{{Library: "libcuda", Share: 1}}, false, false, HostGrowth,
			"unresolved"},
		"the runtime is no driver": {"growth", []record.TouchOwner{{Library: "libcudart", Share: .9}}, false, false,
			HostGrowth, "libcudart"},
		"nobody has most": {"growth", []record.TouchOwner{{Library: "libcuda", Share: .5},
			{Library: "python3.12", Share: .5}}, false, false, HostGrowth, "unresolved"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProgram(800).healthy().grows(record.ColRSS, 500*mib, 64*kib, 64*kib)
			delete(p.cols, record.ColHostHeap)
			if c.heap {
				p.grows(record.ColHostHeap, 100*mib, 16*kib, 64*kib)
			}
			if c.counted {
				p.set(record.ColEvents, func(int) float64 { return 36 })
			}
			p.events = append(p.events, record.Event{TMs: 20000, Kind: record.KindFirstTouch,
				FirstTouch: &record.FirstTouch{Seconds: 6, Judgement: c.judgement, Owners: c.owners}})
			v := p.judge()
			if v.Verdict != c.class || !strings.Contains(v.Summary, c.words) {
				t.Errorf("%s, want %s with %q: %s", v.Verdict, c.class, c.words, v.Summary)
			}
		})
	}
}

// The driver maps pinned memory: the heap stays still and the first touch shows
// other pages.
func TestPinnedMemoryThatTheProgramAskedForIsItsOwn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pinned float64 // bytes a row, of 64 KiB a row in all
		class  Class
	}{{64 * kib, HostGrowth}, {40 * kib, HostGrowth}, {20 * kib, DriverGrowth}, {0, DriverGrowth}} {
		p := newProgram(800).healthy().grows(record.ColRSS, 500*mib, 64*kib, 64*kib).grows("pinned_bytes", 8*mib, 0, c.pinned)
		v := p.judge()
		if said := strings.Contains(v.Summary, "pinned memory that the program asked"); v.Verdict != c.class ||
			said != (c.class == HostGrowth) {
			t.Errorf("%v B a row pinned: %s, want %s: %s", c.pinned, v.Verdict, c.class, v.Summary)
		}
	}
}

func TestWhatTouchedTheNewPagesIsNamedByFunctionAndLine(t *testing.T) {
	t.Parallel()
	const beside = "its new pages first touched by server (100 %)"
	for name, c := range map[string]struct {
		places []record.TouchPlace
		want   string
	}{
		"nobody looked": {nil, beside + "."},
		"a line": {[]record.TouchPlace{{Site: "src/cache.cc:31 (anonymous namespace)::cache::put, " +
			"inlined into src/main.cc:48 main", Share: .9}},
			beside + ", 90 % of them at src/cache.cc:31 in cache::put."},
		"a function of several lines": {[]record.TouchPlace{{Site: "src/log.cc:9 log::add", Share: .3},
			{Site: "src/cache.cc:31 cache::put", Share: .25},
			{Site: "src/cache.cc:32 cache::put", Share: .2}},
			beside + ", 45 % of them at src/cache.cc:31 in cache::put."},
		"no lines": {[]record.TouchPlace{{Site: "server+0x1970b cache::put", Share: .2},
			{Site: "server+0x19711 cache::put", Share: .2}},
			beside + ", 40 % of them in cache::put (server+0x1970b)."},
		"nothing has enough": {[]record.TouchPlace{{Site: "src/log.cc:9 log::add", Share: .2}}, beside + "."},
	} {
		p := newProgram(800).grows(record.ColRSS, 500*mib, 64*kib, 64*kib)
		p.events = append(p.events, record.Event{TMs: 20000, Kind: record.KindFirstTouch,
			FirstTouch: &record.FirstTouch{Seconds: 6, Judgement: "growth", Places: c.places,
				Owners: []record.TouchOwner{{Library: "server", Share: 1}}}})
		if v := p.judge(); v.Verdict != HostGrowth || !strings.HasSuffix(v.Answer, c.want) {
			t.Errorf("%s: %s", name, v.Answer)
		} else if named := strings.Contains(c.want, "of them"); named != strings.HasPrefix(v.Next,
			"find what keeps the memory") {
			t.Errorf("%s: next %s", name, v.Next)
		}
	}
}

func TestFirstTouchesOfTheWarmUpSayNothingOfTheGrowth(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		growth float64 // of what is resident, while it was looked
		at     float64 // when that had been done, of 40 s
		want   Class
	}{{10 * mib, 8, DriverGrowth}, {300 * mib, 8, HostGrowth}, {10 * mib, 38, DriverGrowth},
		{300 * mib, 38, HostGrowth}} {
		p := newProgram(800).healthy().grows(record.ColRSS, 500*mib, 64*kib, 64*kib)
		p.grows(record.ColHostHeap, 100*mib, 64*kib, 64*kib)
		delete(p.cols, record.ColEvents)
		grew := int64(c.growth)
		p.events = append(p.events, record.Event{TMs: 1000 * c.at, Kind: record.KindFirstTouch,
			FirstTouch: &record.FirstTouch{Seconds: 6, Judgement: "growth", GrowthBytes: &grew,
				Owners: []record.TouchOwner{{Library: "libcuda", Share: .9}}}})
		if v := p.judge(); v.Verdict != c.want {
			t.Errorf("%.0f MiB in 6 s until %.0f s: %s", c.growth/mib, c.at, v.Summary)
		}
	}
}

// Results that a program copied from its device are first touched by the driver, also where the heap was
// read too seldom to show them: a container that got longer by as much says whose they are.
func TestWhatAContainerHoldsIsNotTheDriversThatTouchedIt(t *testing.T) {
	t.Parallel()
	const each = 320 * kib
	judged := func(held, bound int64) *Verdict {
		p := newProgram(800).healthy().grows(record.ColRSS, 500*mib, 64*kib, each)
		p.events = append(p.events, record.Event{TMs: 20_000, Kind: record.KindFirstTouch,
			FirstTouch: &record.FirstTouch{Seconds: 6, Judgement: "growth",
				Owners: []record.TouchOwner{{Library: "libcuda", Share: .99}}}})
		if held > 0 {
			p = p.lookedAt("list main() local log.records", held, bound)
			for _, e := range p.events[1:] {
				e.Holders[0].Host = true
			}
		}
		return p.judge()
	}
	const held = "held by list main() local log.records"
	if v := judged(each, 0); v.Verdict != HostGrowth || !strings.Contains(v.Answer, held) {
		t.Errorf("held: %s", v.Answer)
	}
	for name, v := range map[string]*Verdict{
		"nobody holds it": judged(0, 0), "far too little": judged(each/20, 0), "a ring": judged(each, 2000),
	} {
		if v.Verdict == HostGrowth {
			t.Errorf("%s: %s", name, v.Answer)
		}
	}
}
