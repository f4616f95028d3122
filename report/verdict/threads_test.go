package verdict

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/cause"
	"github.com/gpumem/gpumem/tracer/record"
)

// threaded is a program of host memory that starts so many threads, evenly, of which each
// takes so much.
func threaded(threads int, each, leak float64) *program {
	p := newProgram(900).healthy()
	count := func(i int) float64 { return 4 + math.Floor(float64(threads)*float64(i)/900) }
	p.set(record.ColThreads, count).set(record.ColRSS, func(i int) float64 {
		return 500*mib + each*count(i) + leak*float64(i) + 64*kib*p.r.NormFloat64()
	})
	for _, c := range []string{record.ColGPU, record.ColLive, record.ColIdle, record.ColLiveCount,
		record.ColRefs,
		record.ColInFlight, record.ColHostHeap, record.ColStep} {
		delete(p.cols, c)
	}
	return p
}

func TestAPoolOfThreadsThatFillsUpIsNoGrowth(t *testing.T) {
	t.Parallel()
	v := threaded(12, 1400*kib, 0).judge()
	if v.Verdict != Undecided || !strings.Contains(v.Summary,
		"rose with the 11 threads that were started meanwhile") {
		t.Errorf("%s", v.Summary)
	}
	// The same rows where nobody counted threads are a growth.
	p := threaded(12, 1400*kib, 0)
	delete(p.cols, record.ColThreads)
	if v := p.judge(); v.Verdict != HostGrowth {
		t.Errorf("without a count: %s", v.Summary)
	}
}

func TestMoreThreadsThanAPoolHasAreTheCause(t *testing.T) {
	t.Parallel()
	v := threaded(400, 256*kib, 0).judge()
	if v.Verdict != HostGrowth || !named(v, cause.Threads) {
		t.Errorf("%s", v.Summary)
	}
	if v := threaded(0, 0, 100*kib).judge(); v.Verdict != HostGrowth || named(v, cause.Threads) {
		t.Errorf("without threads: %s", v.Summary)
	}
}

func TestTheLineThatStartsThreadsIsToldWithTheCause(t *testing.T) {
	t.Parallel()
	p := threaded(400, 256*kib, 0)
	h := record.Holder{Path: "dict threading._active", Count: 400, Filled: "/a/serve.py:24 accept"}
	p.events = append(p.events, record.Event{TMs: 30_000, Kind: record.KindHolders, Holders: []record.Holder{h}})
	v := p.judge()
	want := "cause: threads left, started at /a/serve.py:24 in accept"
	if !named(v, cause.Threads) || !strings.Contains(v.Answer, want) {
		t.Errorf("%s", v.Answer)
	}
}

func TestALeakBesideAPoolOfThreadsIsALeak(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]*program{
		"threads that take little": threaded(12, 64*kib, 100*kib),
		"a pool that is full": threaded(12, 1400*kib, 100*kib).set(record.ColThreads, func(i int) float64 {
			return 4 + math.Min(12, math.Floor(float64(i)/12))
		}),
	} {
		if v := p.judge(); v.Verdict != HostGrowth || named(v, cause.Threads) {
			t.Errorf("%s: %s", name, v.Summary)
		}
	}
}

func TestThreadsThatNobodyCountedWhileItGrewTellNothing(t *testing.T) {
	t.Parallel()
	p := threaded(12, 1400*kib, 0).phase(record.PhaseBaseline, 300)
	for i := 300; i < p.rows; i++ {
		p.cols[record.ColThreads][i] = math.NaN()
	}
	if v := p.judge(); v.Verdict != HostGrowth {
		t.Errorf("%s", v.Summary)
	}
}

// executing is a program of which each thread of an executor takes 100 MiB of the device outside of
// the program's own, up to so many threads of as many as it may have.
func executing(threads, most int, told bool) *program {
	p := newProgram(900).flat(record.ColRSS, 300*mib, 64*kib).flat(record.ColLive, 8*mib, 0).flat(record.ColIdle, 0, 0)
	steps := []int{200, 260, 310, 420, 470, 540, 600, 640, 720, 790, 830, 870}
	count := func(i int) (n float64) {
		for k, at := range steps {
			if i >= at && k < threads {
				n++
			}
		}
		return 4 + n
	}
	p.set(record.ColGPU, func(i int) float64 { return 500*mib + 100*mib*count(i) })
	p.set(record.ColThreads, func(i int) float64 { return 3 + count(i) })
	for i := 0; told && i < 900; i += 40 {
		detail, _ := json.Marshal(map[string]float64{"threads": count(i), "most": float64(most)})
		p.events = append(p.events, record.Event{TMs: float64(i) * 50, Kind: record.KindEvent, Name: threadPools,
			Detail: detail})
	}
	return p
}

func TestWhatEachThreadOfAnExecutorTakesOfTheDeviceFillsUp(t *testing.T) {
	t.Parallel()
	if v := executing(12, 20, true).judge(); v.Verdict != Undecided || !strings.Contains(v.Summary,
		"memory outside the program's rose with the") {
		t.Errorf("%s: %s", v.Verdict, v.Summary)
	}
	for name, p := range map[string]*program{
		"threads of nobody's":      executing(12, 20, false),
		"an executor that is full": executing(12, 16, true),
		"an executor beside what grows": executing(0, 20, true).set(record.ColGPU, func(i int) float64 {
			return 500*mib + 2*mib*float64(i)
		}),
	} {
		if v := p.judge(); v.Verdict != DriverGrowth {
			t.Errorf("%s: %s: %s", name, v.Verdict, v.Summary)
		}
	}
}
