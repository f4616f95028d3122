package verdict

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// stalling is device memory outside of the pool that a program asks for by the row until
// its machine is too busy for it, so that the trend alone leaves it open.
func stalling(perRow float64) (*program, func(second float64) float64) {
	p := newProgram(600).healthy()
	level := func(second float64) float64 { return perRow * 20 * (min(second, 26) + max(0, second-26)/6) }
	p.flat(record.ColIdle, 2*mib, 0).flat(record.ColLive, 0, 0).flat(record.ColLiveCount, 0, 0)
	delete(p.cols, record.ColStep)
	return p.set(record.ColGPU, func(i int) float64 { return 600*mib + level(float64(i)/20) }), level
}

// askedAt adds what sites hold at the moments of the capture's looks.
func (p *program) askedAt(sites func(second float64) []record.Site) *program {
	for _, at := range []float64{2, 3, 4.5, 6.75, 10.1, 15.2, 22.8, 29.9} {
		p.events = append(p.events, record.Event{TMs: at * 1000, Kind: record.KindDriverSites,
			Name: record.NameLook, Sites: sites(at)})
	}
	return p
}

func TestASiteThatHoldsMoreAtEachLookDecidesWhereTheTrendIsOpen(t *testing.T) {
	t.Parallel()
	p, level := stalling(256 * kib)
	if v := p.judge(); v.Verdict != Undecided {
		t.Fatalf("the trend is not open: %s", v.Summary)
	}
	v := p.askedAt(func(second float64) []record.Site {
		return []record.Site{
			{Site: "/app/train.py:44 step", Bytes: int64(level(second)), Count: int64(level(second) / (2 * mib))},
			{Site: "/app/train.py:7 main", Bytes: 500 * mib, Count: 9},
		}
	}).judge()
	if v.Verdict != DriverGrowth || v.RestsOn != ByObjects ||
		!strings.Contains(v.Answer, "device memory from /app/train.py:44 in step was more at each of 5 looks") {
		t.Errorf("%s by %s", v.Answer, v.RestsOn)
	}
}

func TestASiteThatFillsAndStaysDecidesNothing(t *testing.T) {
	t.Parallel()
	p, level := stalling(256 * kib)
	held := func(most float64) func(second float64) []record.Site {
		return func(second float64) []record.Site {
			return []record.Site{{Site: "/app/train.py:44 step", Bytes: int64(min(level(second), most)), Count: 3}}
		}
	}
	if v := p.askedAt(held(60 * mib)).judge(); v.Verdict != Undecided {
		t.Errorf("one that filled up: %s", v.Answer)
	}
	p, level = stalling(256 * kib)
	v := p.askedAt(func(second float64) []record.Site {
		return []record.Site{{Site: "/app/train.py:44 step", Bytes: int64(level(second) / 10), Count: 3}}
	}).judge()
	if v.Verdict != Undecided {
		t.Errorf("one that explains a tenth: %s", v.Answer)
	}
}

func TestHandlesThatAreMoreAtEachLookExplainWhatRisesWithThem(t *testing.T) {
	t.Parallel()
	const class = "/app/serve.py:12 answer [stream]"
	streams := func(cost float64) *Verdict {
		p, level := stalling(256 * kib)
		p.set(record.ColStreams, func(i int) float64 { return level(float64(i)/20) / cost })
		return p.askedAt(func(second float64) []record.Site {
			return []record.Site{{Site: class, Count: int64(level(second) / cost)}}
		}).judge()
	}
	if v := streams(.5 * mib); v.Verdict != DriverGrowth || !named(v, "handle-leak") ||
		!strings.Contains(v.Answer, "the number of streams from /app/serve.py:12 in answer was more at each of 5 looks") {
		t.Errorf("%s %v", v.Answer, v.Causes)
	}
	p, _ := stalling(256 * kib)
	v := p.askedAt(func(second float64) []record.Site {
		return []record.Site{{Site: class, Count: int64(40 * second * second)}} // as they do not come
	}).judge()
	if v.Verdict != Undecided {
		t.Errorf("of a growth that does not follow them: %s", v.Answer)
	}
}

// What a pool takes from the driver is its own, and no growth outside of it.
func TestWhatAPoolTakesIsNoGrowthOutsideOfIt(t *testing.T) {
	t.Parallel()
	p, level := stalling(256 * kib)
	p.set(record.ColIdle, func(i int) float64 { return 2*mib + level(float64(i)/20) })
	v := p.askedAt(func(second float64) []record.Site {
		return []record.Site{{Site: "/app/train.py:44 step", Bytes: int64(level(second)), Count: 3}}
	}).judge()
	if v.Verdict == DriverGrowth || v.RestsOn == ByObjects {
		t.Errorf("%s by %s", v.Answer, v.RestsOn)
	}
}
