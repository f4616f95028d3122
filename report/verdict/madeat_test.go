package verdict

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/cause"
	"github.com/gpumem/gpumem/tracer/record"
)

// handling is a program whose device memory outside of its own grows by a MiB a row, with one
// handle more of a kind in each.
func handling(column string, sites ...record.Site) *program {
	p := newProgram(800).flat(record.ColRSS, 300*mib, 64*kib).flat(record.ColLive, 8*mib, 0).flat(record.ColIdle, 0, 0)
	p.set(record.ColGPU, func(i int) float64 { return 500*mib + mib*float64(i) })
	p.set(column, func(i int) float64 { return float64(i) })
	p.events = append(p.events, record.Event{TMs: 39_900, Kind: record.KindDriverSites, Sites: sites})
	return p
}

func TestHandlesThatAreNeverReleasedHaveTheLineThatMakesThem(t *testing.T) {
	t.Parallel()
	made := func(kind string, count int64) record.Site {
		return record.Site{Site: "/srv/app/serve.py:30 answer [" + kind + "]", Count: count}
	}
	const at = "app/serve.py:30 in answer"
	for name, c := range map[string]struct {
		p           *program
		cause, says string
	}{
		"streams of one line": {handling(record.ColStreams, made("stream", 780)), cause.HandleLeak, ", made at " + at},
		"streams of many":     {handling(record.ColStreams, made("stream", 90)), cause.HandleLeak, "cause: handle leak."},
		"modules":             {handling(record.ColModules, made("module", 780)), cause.HandleLeak, ", made at " + at},
		"modules of a kernel's": {handling(record.ColModules, made("module", 780)).with("cupy"), cause.Compiled,
			"compiled again and again at " + at},
		"those of a library": {handling(record.ColEvents, record.Site{Bytes: 700 * mib, GrowthBytes: 700 * mib, Count: 90,
			Site: "libcublas.so.13+0x5b45ee (build id 3f94), called by /srv/app/serve.py:30 answer"}), cause.Workspaces,
			"allocated at " + at},
	} {
		v := c.p.judge()
		if v.Verdict != DriverGrowth || len(v.Causes) == 0 || v.Causes[0].ID != c.cause ||
			!strings.Contains(v.Answer, c.says) {
			t.Errorf("%s: %s, causes %+v", name, v.Answer, v.Causes)
		}
	}
}

// with says that a program has a framework.
func (p *program) with(framework string) *program {
	if p.meta.Versions == nil {
		p.meta.Versions = map[string]string{}
	}
	p.meta.Versions[framework] = "14.2"
	return p
}

func TestObjectsThatCameWithTheDriversMemoryAreNamed(t *testing.T) {
	t.Parallel()
	p := newProgram(800).flat(record.ColRSS, 300*mib, 64*kib).flat(record.ColLive, 8*mib, 0).flat(record.ColIdle, 0, 0)
	p.set(record.ColGPU, func(i int) float64 { return 500*mib + mib*float64(i) })
	kept := record.Holder{Path: "TextureObject objects below serve() local map.textures", Count: 150, Length: 160,
		OverMs: 30_000, Filled: "/srv/app/draw.py:57 tile"}
	p.events = append(p.events, record.Event{TMs: 38_000, Kind: record.KindHolders, Holders: []record.Holder{kept}})
	p.events = append(p.events, record.Event{TMs: 39_900, Kind: record.KindDriverSites, Sites: []record.Site{
		{Site: "/srv/app/draw.py:51 tile [array]", Bytes: 700 * mib, GrowthBytes: 700 * mib, Count: 160}}})
	v := p.judge()
	const came = "150 more TextureObject objects below serve() local map.textures came, made at app/draw.py:57 in tile"
	if v.Verdict != DriverGrowth || !strings.Contains(v.Answer, came) || len(v.Causes) != 1 ||
		v.Causes[0].ID != cause.Asked || !strings.Contains(v.Next, kept.Path) {
		t.Errorf("%s, causes %+v, next %s", v.Answer, v.Causes, v.Next)
	}
	p.events[1].Sites[0].Site, p.events[1].Sites[0].Count = "/srv/app/load.py:51 load", 16
	if v := p.judge(); !strings.Contains(v.Answer, came) || strings.Contains(v.Answer, "cause") {
		t.Errorf("asked for elsewhere: %s, causes %+v", v.Answer, v.Causes)
	}
	p.events[1].Sites[0].Count = 160 // as often as there are textures
	if v := p.judge(); !strings.Contains(v.Answer, "cause: driver memory kept") {
		t.Errorf("as often: %s, causes %+v", v.Answer, v.Causes)
	}
	p.events[0].Holders[0].Kind = cause.Caches
	if v := p.judge(); !strings.Contains(v.Answer, "cause: cache without bound") {
		t.Errorf("a cache: %s, causes %+v", v.Answer, v.Causes)
	}
	p.events[0].Holders[0].Count = 2 // 200 MiB each
	if v := p.judge(); v.Verdict != DriverGrowth || len(v.Causes) != 1 || v.Causes[0].ID != cause.Asked {
		t.Errorf("causes %+v", v.Causes)
	}
}

func TestWhatTheDriverHadIsNamedAlsoWhereAllIsGivenBackAtTheEnd(t *testing.T) {
	t.Parallel()
	const site = "libcurand.so.10+0xdd7fe (build id ef60), called by /srv/app/draw.py:30 generator"
	p := newProgram(800).flat(record.ColRSS, 300*mib, 64*kib).flat(record.ColLive, 8*mib, 0).flat(record.ColIdle, 0, 0)
	p.set(record.ColGPU, func(i int) float64 { return 500*mib + mib*float64(i) })
	p.set(record.ColDriverAllocBytes, func(i int) float64 { return 10*mib + mib*float64(i) })
	for _, second := range []float64{3, 6, 12, 24, 36} {
		p.events = append(p.events, record.Event{TMs: second * 1000, Kind: record.KindDriverSites, Name: record.NameLook,
			Sites: []record.Site{{Site: site, Bytes: int64(20 * second * mib), Count: int64(second * 2)}}})
	}
	p.events = append(p.events,
		record.Event{TMs: 39_800, Kind: record.KindDriverSites, Name: record.NameLook, Sites: []record.Site{
			{Site: "/srv/app/draw.py:7 load", Bytes: 9 * mib, Count: 1}}},
		record.Event{TMs: 39_900, Kind: record.KindDriverSites, Sites: []record.Site{
			{Site: record.GoneSite(site), Bytes: 720 * mib, Count: 72},
			{Site: "/srv/app/draw.py:7 load", Bytes: 9 * mib, Count: 1}}})
	v := p.judge()
	if v.Verdict != DriverGrowth || !strings.Contains(v.Answer, "; allocated at app/draw.py:30 in generator") ||
		!named(v, cause.Workspaces) {
		t.Errorf("%s, causes %+v", v.Answer, v.Causes)
	}
}

func TestWhatAPlaceGotMoreFromTheFirstLookOnCounts(t *testing.T) {
	t.Parallel()
	p := newProgram(800).flat(record.ColRSS, 300*mib, 64*kib).flat(record.ColLive, 8*mib, 0).flat(record.ColIdle, 0, 0)
	p.set(record.ColGPU, func(i int) float64 { return 500*mib + mib*float64(i) })
	site := func(line string) string {
		return "libcufft.so.12+0x336f24, called by /srv/app/sing.py:" + line + " convolve"
	}
	for _, second := range []float64{3, 6, 12, 24, 36} {
		p.events = append(p.events, record.Event{TMs: second * 1000, Kind: record.KindDriverSites, Name: record.NameLook,
			Sites: []record.Site{{Site: site("45"), Bytes: int64(9 * second * mib), Count: int64(second * 2)},
				{Site: site("46"), Bytes: int64(8 * second * mib), Count: int64(second * 2)}}})
	}
	p.events = append(p.events, record.Event{TMs: 39_900, Kind: record.KindDriverSites, Sites: []record.Site{
		{Site: site("45"), Bytes: 360 * mib, GrowthBytes: 180 * mib, Count: 80},
		{Site: site("46"), Bytes: 320 * mib, GrowthBytes: 160 * mib, Count: 80}}})
	const at = "allocated at app/sing.py:45 in convolve"
	if v := p.judge(); v.Verdict != DriverGrowth || !strings.Contains(v.Answer, at) {
		t.Errorf("%s", v.Answer)
	}
}

func TestWhatNobodyKnowsTheCauseOfIsGivenBackWhereItWasAsked(t *testing.T) {
	t.Parallel()
	p := newProgram(800).flat(record.ColRSS, 300*mib, 64*kib).flat(record.ColLive, 8*mib, 0).flat(record.ColIdle, 0, 0)
	p.set(record.ColGPU, func(i int) float64 { return 500*mib + mib*float64(i) })
	p.set(record.ColDriverAllocBytes, func(i int) float64 { return 10*mib + mib*float64(i) })
	p.events = append(p.events, record.Event{TMs: 39_900, Kind: record.KindDriverSites, Sites: []record.Site{
		{Site: "/srv/app/flow.py:32 allocate", Bytes: 720 * mib, Count: 72}}})
	v := p.judge()
	if v.Verdict != DriverGrowth || !strings.Contains(v.Next, "asked of the driver at app/flow.py:32 in allocate") {
		t.Errorf("%s, next %s", v.Answer, v.Next)
	}
}

func TestHandlesAreNoCauseOfWhatAnotherLibraryFills(t *testing.T) {
	t.Parallel()
	for library, isNamed := range map[string]bool{"onnxruntime_pybind11_state": false, "tokenizers": false,
		"libtorch_cpu": true, "python3.12": true, "libnvrtc": true, "libcuda": true} {
		p := newProgram(800).grows(record.ColRSS, 500*mib, 64*kib, mib).flat(record.ColGPU, 700*mib, 0)
		p.set(record.ColModules, func(i int) float64 { return float64(i) })
		p.events = append(p.events, record.Event{TMs: 20_000, Kind: record.KindFirstTouch, FirstTouch: &record.FirstTouch{
			Seconds: 6, Judgement: "growth", Owners: []record.TouchOwner{{Library: library, Share: .67}}}})
		v := p.judge()
		if named(v, cause.HandleLeak) != isNamed {
			t.Errorf("%s: %s, causes %+v", library, v.Answer, v.Causes)
		}
	}
}

func TestAHeapThatJumpsAndRisesIsTheProgramsAlsoWhereTheDriverFillsIt(t *testing.T) {
	t.Parallel()
	p := newProgram(800).grows(record.ColRSS, 500*mib, 64*kib, mib/8).flat(record.ColGPU, 700*mib, 0)
	p.set(record.ColHostHeap, func(i int) float64 {
		jump := float64(i/150%2) * 120 * mib // of blocks that are mapped and not touched
		return 480*mib + jump + mib/8*float64(i)
	}).set(record.ColHostHeapFree, func(i int) float64 { return 8*mib + 4*kib*float64(i) })
	p.flat(record.ColEvents, 19, 0).flat(record.ColModules, 20, 0)
	p.events = append(p.events, record.Event{TMs: 20_000, Kind: record.KindFirstTouch, FirstTouch: &record.FirstTouch{
		Seconds: 6, Judgement: "growth", Owners: []record.TouchOwner{{Library: "libcuda", Share: .73}}}})
	if v := p.judge(); v.Verdict != HostGrowth {
		t.Errorf("%s", v.Answer)
	}
}

// Where the objects of a class are made is not where what they have was asked for.
func TestWhatObjectsOfAClassHaveIsTakenFromTheDriverSomewhere(t *testing.T) {
	t.Parallel()
	const each = mib
	p := newProgram(800).healthy()
	p.set(record.ColLive, func(i int) float64 { return 60*mib + each*float64(i) }).
		set(record.ColGPU, func(i int) float64 { return 640*mib + each*float64(i) })
	p = p.with("torch").lookedAt("Node objects below main() local pyramid.root", each, 0)
	for _, e := range p.events {
		e.Holders[0].Filled = "/srv/app/zoom.py:32 __init__; /srv/app/zoom.py:40 find"
	}
	p.events = append(p.events, record.Event{TMs: 39_900, Kind: record.KindDriverSites, Sites: []record.Site{
		{Site: "/srv/app/zoom.py:56 tile", Bytes: 780 * mib, GrowthBytes: 700 * mib, Count: 390}}})
	v := p.judge()
	const made = "made at app/zoom.py:32 in __init__ and app/zoom.py:40 in find"
	const taken = "taken from the driver at app/zoom.py:56 in tile"
	if v.Verdict != AppLeak || !strings.Contains(v.Answer, made) || !strings.Contains(v.Answer, taken) {
		t.Errorf("%s", v.Answer)
	}
}

// What is kept says less than what it is: pinned memory.
func TestPinnedMemoryInAListIsFirstPinned(t *testing.T) {
	t.Parallel()
	const each = mib
	p := newProgram(800).healthy()
	p.set(record.ColRSS, func(i int) float64 { return 500*mib + each*float64(i) }).
		set(record.ColPinnedBytes, func(i int) float64 { return each * float64(i) })
	p = p.with("torch").lookedAt("list main() local watch.uploader.buffers", each, 0)
	for _, e := range p.events {
		e.Holders[0].Host = true
	}
	for kind, second := range map[string]string{"": cause.Results, "entries-left": cause.Entries} {
		for _, e := range p.events {
			e.Holders[0].Kind = kind
		}
		v := p.judge()
		if v.Verdict != HostGrowth || len(v.Causes) != 2 || v.Causes[0].ID != cause.Pinned ||
			v.Causes[1].ID != second {
			t.Errorf("%q: %s, causes %+v", kind, v.Answer, v.Causes)
		}
	}
}

func TestTheLineThatMadeModulesIsTheDriversAlsoWhereTheFrameworkTellsLines(t *testing.T) {
	t.Parallel()
	p := newProgram(800).grows(record.ColRSS, 500*mib, 64*kib, mib/2).flat(record.ColGPU, 700*mib, 0)
	p.meta.Versions = map[string]string{"python": "3.12", "jax": "0.11"}
	p.set(record.ColModules, func(i int) float64 { return float64(i) })
	p.events = append(p.events,
		record.Event{TMs: 39_800, Kind: record.KindSites, Sites: []record.Site{
			{Site: "/srv/app/soar.py:40 layers", Bytes: 7 * kib, Count: 4}}},
		record.Event{TMs: 39_900, Kind: record.KindDriverSites, Sites: []record.Site{
			{Site: "/srv/app/soar.py:87 main [module]", Count: 780}}})
	v := p.judge()
	if v.Verdict != HostGrowth || !strings.Contains(v.Answer, "compiled again and again at app/soar.py:87 in main") ||
		!named(v, cause.Compiled) {
		t.Errorf("%s, causes %+v", v.Answer, v.Causes)
	}
}
