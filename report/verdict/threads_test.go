package verdict

import (
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
