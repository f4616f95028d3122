package verdict

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// early is a program of Python's whose device came to life with the first of so many rows, and
// whose live bytes rise in portions of uneven size, at uneven times.
func early(rows int, seed uint64, portion float64) *program {
	p := newProgram(rows).healthy()
	r, level := rand.New(rand.NewPCG(seed, 3)), 60.*mib
	live := make([]float64, rows)
	for i := range live {
		if r.IntN(12) == 0 {
			level += portion * (.5 + 2*r.Float64())
		}
		live[i] = level
	}
	p.meta.Versions = map[string]string{"python": "3.12"}
	p.set(record.ColLive, func(i int) float64 { return live[i] })
	return p.set(record.ColGPU, func(i int) float64 { return 640*mib + live[i] })
}

// lookedTwice adds two looks at a list of some elements, by which came what is live.
func (p *program) lookedTwice(bound int64, lengths ...int64) *program {
	live, from := p.cols[record.ColLive], 40
	for i, at := range [...]int{80, 160} {
		h := record.Holder{Path: "list train.kept", Length: lengths[i], Count: 12, Bound: bound,
			Bytes: int64(live[at] - live[from]), OverMs: 50 * float64(at-from)}
		p.events = append(p.events, record.Event{TMs: 50 * float64(at), Kind: record.KindHolders,
			Holders: []record.Holder{h}})
		from = at
	}
	return p
}

func TestTwoLooksDecideWhereTheTrendIsOnTheWay(t *testing.T) {
	t.Parallel()
	more := 0
	for seed := range uint64(60) {
		alone := early(175, seed, 2*mib).judge()
		v := early(175, seed, 2*mib).lookedTwice(0, 12, 24).judge()
		if alone.Verdict == AppLeak && v.Verdict != AppLeak {
			t.Errorf("looks took back: %s", v.Summary)
		}
		if alone.Verdict == Undecided && v.Verdict == AppLeak {
			more++
		}
		for name, p := range map[string]*program{
			"few elements": early(175, seed, 2*mib).lookedTwice(0, 2, 4),
			"a bound":      early(175, seed, 2*mib).lookedTwice(40, 12, 24),
			"no longer":    early(175, seed, 2*mib).lookedTwice(0, 24, 24),
		} {
			if v := p.judge(); v.Verdict == AppLeak && alone.Verdict != AppLeak {
				t.Errorf("%s, seed %d: %s", name, seed, v.Summary)
			}
		}
	}
	if more < 20 {
		t.Errorf("looks decided %d of 60", more)
	}
}

func TestAListThatGotLongerUntilWhatIsLiveStoodStillIsOpen(t *testing.T) {
	t.Parallel()
	const each = 256 * kib
	p := newProgram(400).healthy()
	live := func(i int) float64 { return 60*mib + each*float64(min(i, 280)) }
	p.set(record.ColLive, live).set(record.ColGPU, func(i int) float64 { return 640*mib + live(i) })
	p = p.lookedAt("list train.bank", each, 0)
	p.events = slices.DeleteFunc(p.events, func(e record.Event) bool { return e.TMs > 10000 })
	if v := p.judge(); v.Verdict == AppLeak {
		t.Errorf("%s", v.Summary)
	}
}

func TestAStraightGrowthOfSecondsIsNotSureWhileTheDeviceIsYoung(t *testing.T) {
	t.Parallel()
	// Steps begin late: the judged window is short, and a round of work is as straight.
	judged := func(rows, begin int) *Verdict {
		p := newProgram(rows).healthy()
		live := func(i int) float64 { return 60*mib + mib*float64(max(0, i-begin)) }
		p.set(record.ColStep, func(i int) float64 { return float64(3 * max(0, i-begin)) }).
			set(record.ColLive, live).set(record.ColGPU, func(i int) float64 { return 640*mib + live(i) })
		p.meta.Versions = map[string]string{"python": "3.12"}
		return p.judge()
	}
	const young = "the device has been in use for only"
	if v := judged(200, 130); v.Verdict != Undecided || !strings.Contains(v.Summary, young) {
		t.Errorf("3.5 s: %s", v.Summary)
	}
	if v := judged(200, 40); v.Verdict != AppLeak {
		t.Errorf("8 s: %s", v.Summary)
	}
	if v := judged(320, 220); v.Verdict != AppLeak {
		t.Errorf("5 s of a device that has been in use for 16 s: %s", v.Summary)
	}
}

func TestAGrowthOfTheDevicesOwnMemoryCountsBeforeOneOfTheHosts(t *testing.T) {
	t.Parallel()
	judged := func(rows int, columns ...string) *Verdict {
		p, begin := newProgram(rows).healthy(), rows-85
		p.set(record.ColStep, func(i int) float64 { return float64(3 * max(0, i-begin)) })
		for _, column := range columns {
			level := 100 * mib
			if column == record.ColGPU {
				level = 800 * mib
			}
			p.set(column, func(i int) float64 { return float64(level) + 2*mib*float64(max(0, i-begin)) })
		}
		p.meta.Versions = map[string]string{"python": "3.12"}
		return p.judge()
	}
	if v := judged(195, record.ColIdle, record.ColGPU); v.Verdict != PoolGrowth {
		t.Errorf("a pool, 9.7 s after the device: %s", v.Summary)
	}
	if v := judged(175, record.ColIdle, record.ColGPU); v.Verdict != Undecided {
		t.Errorf("a pool, 8.7 s after it: %s", v.Summary)
	}
	if v := judged(195, record.ColRSS, record.ColRSSAnon, record.ColFootprint); v.Verdict != Undecided {
		t.Errorf("the host: %s", v.Summary)
	}
	if v := judged(195, record.ColRSS, record.ColFootprint, record.ColPinnedBytes); v.Verdict != HostGrowth {
		t.Errorf("what is pinned for the device: %s", v.Summary)
	}
}

func TestAListOnTheHostOfAProgramThatTakesNothingOfItsDevice(t *testing.T) {
	t.Parallel()
	judged := func(looked bool) *Verdict {
		p := newProgram(260)
		levels := make([]float64, 260)
		for i := range levels { // so noisy that the trend is not sure
			levels[i] = 200*mib + .4*mib*float64(i) + 30*mib*p.r.NormFloat64()
		}
		for _, column := range [...]string{record.ColRSS, record.ColRSSAnon, record.ColFootprint} {
			p.set(column, func(i int) float64 { return levels[i] })
		}
		p.meta.Versions, p.meta.Device = map[string]string{"python": "3.12"}, "NVIDIA H200"
		if looked {
			p.lookedAt("list main() local kept", mib*2/5, 0)
		}
		return p.judge()
	}
	const young = "the program has not used its device yet"
	if v := judged(false); !strings.Contains(v.Summary, young) {
		t.Fatalf("the trend alone is sure: %s", v.Summary)
	}
	if v := judged(true); v.Verdict != HostGrowth || !strings.Contains(v.Answer, "main() local kept") {
		t.Errorf("%s", v.Answer)
	}
}

func TestAProgramThatWasHardlySeenAtWorkIsOpen(t *testing.T) {
	t.Parallel()
	// It loads a model until it counts its first step.
	judged := func(rows, begin int) *Verdict {
		p := newProgram(rows).healthy()
		p.set(record.ColStep, func(i int) float64 { return float64(3 * max(0, i-begin)) }).
			set(record.ColRSS, func(i int) float64 { return 200*mib + 3*mib*float64(min(i, begin)) })
		p.meta.Versions = map[string]string{"python": "3.12"}
		return p.judge()
	}
	if v := judged(110, 60); v.Verdict != Undecided {
		t.Errorf("at work for 2.5 of 5.5 s: %s", v.Summary)
	}
	if v := judged(200, 120); v.Verdict != None || v.Tier == Confirmed {
		t.Errorf("at work for 4 of 10 s: %s", v.Summary)
	}
	for _, seen := range [...][2]int{{280, 120}, {200, 60}} {
		if v := judged(seen[0], seen[1]); v.Verdict != None {
			t.Errorf("at work for %d of %d rows: %s", seen[0]-seen[1], seen[0], v.Summary)
		}
	}
}

// What sways by more than a fault takes in a few seconds tells of none.
func TestAYoungDeviceBesideWhichMuchWouldHideIsOpen(t *testing.T) {
	t.Parallel()
	judged := func(rows int, sways float64) *Verdict {
		p := newProgram(rows).healthy().flat(record.ColIdle, 90*mib, sways)
		p.meta.Versions = map[string]string{"python": "3.12"}
		return p.judge()
	}
	const hides = "the device has been in use for only 7.45 s, and"
	if v := judged(150, 20*mib); v.Verdict != Undecided || !strings.Contains(v.Summary, hides) {
		t.Errorf("after 7.5 s: %s", v.Summary)
	}
	for name, v := range map[string]*Verdict{
		"by little": judged(150, 64*kib), "for longer": judged(400, 20*mib),
	} {
		if v.Verdict != None {
			t.Errorf("%s: %s", name, v.Summary)
		}
	}
}

// A ring that fills has few elements; what has more is no moment's work, however young the device.
func TestAContainerOfTheHostsWithManyElementsDecidesWhileTheDeviceIsYoung(t *testing.T) {
	t.Parallel()
	judged := func(count int64) *Verdict {
		const begin, each = 100, 512 * kib
		p := newProgram(200).healthy()
		host := func(i int) float64 { return 900*mib + each*float64(max(0, i-begin)) }
		for _, column := range [...]string{record.ColFootprint, record.ColRSS, record.ColHostHeap} {
			p.set(column, host)
		}
		p.set(record.ColStep, func(i int) float64 { return float64(3 * max(0, i-begin)) })
		p.meta.Versions = map[string]string{"python": "3.12"}
		for _, at := range []float64{140, 180} {
			came := (at - begin) * each
			p.events = append(p.events, record.Event{TMs: 50 * at, Kind: record.KindHolders, Holders: []record.Holder{{
				Path: "list main.kept", Host: true, Length: count, Count: count, Bytes: int64(came),
				OverMs: 50 * (at - begin)}}})
		}
		return p.judge()
	}
	if v := judged(40); v.Verdict != HostGrowth || !strings.Contains(v.Answer, "list main.kept") {
		t.Errorf("40 elements: %s", v.Answer)
	}
	if v := judged(20); v.Verdict != Undecided {
		t.Errorf("20 elements: %s", v.Answer)
	}
}

// The driver touches what a program copies from the device first, and so seems to have taken it.
func TestWhatTheDriverTookOfTheHostIsNotSureWhileTheDeviceIsYoung(t *testing.T) {
	t.Parallel()
	judged := func(rows int) *Verdict {
		p := newProgram(rows).healthy()
		for _, column := range [...]string{record.ColFootprint, record.ColRSS} { // whose heap is not recorded
			p.set(column, func(i int) float64 { return 900*mib + 512*kib*float64(i) })
		}
		p.meta.Versions = map[string]string{"python": "3.12"}
		return p.judge()
	}
	if v := judged(190); v.Verdict != Undecided {
		t.Errorf("after 9.5 s: %s", v.Summary)
	}
	if v := judged(400); v.Verdict != DriverGrowth && v.Verdict != HostGrowth {
		t.Errorf("after 20 s: %s", v.Summary)
	}
}

// A recording, in which a tee gives a whole block back when its slower branch has come through it,
// and at its end the program gives back all.
func TestAProgramThatWindsUpTakesNothingBackOfWhatRose(t *testing.T) {
	t.Parallel()
	run, err := record.Open(filepath.Join("testdata", "branch-behind"))
	if err != nil {
		t.Fatal(err)
	}
	if v := Judge(run, Options{}); v.Verdict != AppLeak || v.RestsOn != ByObjects {
		t.Errorf("%s by %s", v.Summary, v.RestsOn)
	}
}

// Three balloons each keep a path until they land. What is live had been as high before the two looks, which
// found the paths of one ascent longer.
func TestAListOfARoundThatEndsIsNoGrowthWhereWhatIsLiveGetsNoHigher(t *testing.T) {
	t.Parallel()
	var told []record.Event
	for _, look := range []struct {
		at, over float64
		n, bytes int64
	}{{7154, 2173, 8, 7900 * kib}, {8105, 3346, 12, 11800 * kib}} {
		told = append(told, record.Event{TMs: look.at, Kind: record.KindHolders, Holders: []record.Holder{{
			Path: "list main() local ascent.segments[…].path", Filled: "/srv/balloons.py:71 rise",
			Length: look.n, Count: look.n - 2, OverMs: look.over, Bytes: look.bytes}}})
	}
	if v := recordedShortly(t, "rounds-end", "python", told...); v.Verdict != Undecided {
		t.Errorf("%s", v.Answer)
	}
}
