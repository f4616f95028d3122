package verdict

import (
	"math"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/cause"
	"github.com/gpumem/gpumem/tracer/record"
)

// planted are programs with one fault each and the cause it must be given, and
// no other.
var planted = []struct {
	cause, fault string
	make         func() *program
}{
	{cause.Autorelease, "2 KiB stay of each launch", func() *program {
		return newProgram(600).healthy().grows(record.ColCommands, 0, 0, 30).grows(record.ColCommandBuffers, 0, 0, 3).
			grows(record.ColRSS, 500*mib, 16*kib, 30*2*kib)
	}},
	{cause.Autorelease, "2 KiB stay of each launch, and a little in the heap", func() *program {
		return newProgram(600).healthy().grows(record.ColCommands, 0, 0, 30).grows(record.ColCommandBuffers, 0, 0, 3).
			grows(record.ColRSS, 500*mib, 16*kib, 30*2*kib).grows(record.ColHostHeap, 100*mib, 16*kib, 2*kib)
	}},
	{cause.Releases, "1 KiB stays of each release, at a pace of its own", func() *program {
		p := newProgram(600).healthy().grows(record.ColCommands, 0, 0, 30)
		freed := 0.
		p.set(record.ColFrees, func(i int) float64 { freed += 20 + 18*math.Sin(float64(i)/60); return freed })
		return p.set(record.ColRSS, func(i int) float64 {
			return 500*mib + kib*p.cols[record.ColFrees][i] +
				16*kib*p.r.NormFloat64()
		})
	}},
	{cause.Releases, "1 KiB stays of each of six releases, while launches are too many and command buffers too few", func() *program {
		return newProgram(600).healthy().grows(record.ColCommands, 0, 0, 400).grows(record.ColCommandBuffers, 0, 0,
			5).grows(record.ColFrees, 0, 0, 30).
			grows(record.ColRSS, 500*mib, 16*kib, 30*kib)
	}},
	{cause.Backlog, "the device is slower than the program",
		func() *program { return newProgram(600).healthy().grows(record.ColInFlight, 3, 1, .5) }},
	{cause.Backlog, "a backlog that holds what it reads", func() *program {
		return newProgram(600).healthy().grows(record.ColInFlight, 3, 1, .5).grows(record.ColLive, 60*mib, 0,
			64*kib).grows(record.ColGPU, 700*mib, 0, 64*kib).
			grows(record.ColLiveCount, 40, 1, 9).grows(record.ColRefs, 60, 1, 18).receipt("collect", 20*mib, 20*mib, 596)
	}},
	{cause.Backlog, "a backlog at the end", func() *program {
		return loading(250*mib, 0).set(record.ColRefs,
			func(i int) float64 { return float64(i) }).grows(record.ColInFlight, 3, 0, 2)
	}},
	{cause.Backlog, "everything in one command buffer", func() *program {
		return newProgram(600).healthy().grows(record.ColCommands, 0, 0, 13).flat(record.ColCommandBuffers, 1, 0)
	}},
	{cause.Uncommitted, "one command buffer in ten is made and forgotten", func() *program {
		return newProgram(600).healthy().grows(record.ColCommandBuffers, 0, 0, 1).grows(record.ColCommands, 0, 0,
			30).grows(record.ColCommandBuffersOpen, 3, 1, .1)
	}},
	{cause.Policy, "left over in the pool", func() *program { return loading(0, 1180*mib) }},
	{cause.Policy, "idle memory grows", func() *program {
		return newProgram(600).healthy().grows(record.ColIdle, 20*mib, 0, 64*kib).grows(record.ColGPU, 700*mib, 0, 64*kib)
	}},
	{cause.Policy, "the pool fills until allocations fail",
		func() *program { return refilling(3.4).grows(record.ColDriverFailed, 0, 0, .01) }},
	{cause.Misses, "sizes that never come again", func() *program {
		return newProgram(600).healthy().grows(record.ColIdle, 20*mib, 0, 64*kib).grows(record.ColGPU, 700*mib, 0, 64*kib).
			grows(record.ColPoolMisses, 0, 0, 4).grows(record.ColPoolHits, 0, 0, .1).grows(record.ColShapes, 0, 0, .5)
	}},
	{cause.Compile, "a graph for each new shape", func() *program {
		return newProgram(600).healthy().grows(record.ColRSS, 500*mib, 16*kib, 128*kib).grows(record.ColShapes, 0, 0, .2).
			grows(record.ColPipelines, 0, 0, .2)
	}},
	{cause.Pipelines, "the same kernels compiled again", func() *program {
		return newProgram(600).healthy().grows(record.ColRSS, 500*mib, 16*kib, 128*kib).flat(record.ColShapes, 7, 0).
			grows(record.ColPipelines, 0, 0, .2).grows(record.ColModules, 0, 0, .2)
	}},
	{cause.Pipelines, "the same kernels compiled again, while buffers are released at a pace of their own",
		func() *program {
			p := newProgram(600).healthy().flat(record.ColShapes, 7, 0).grows(record.ColPipelines, 0, 0, 3)
			freed := 0.
			p.set(record.ColFrees, func(i int) float64 { freed += 60 + 50*math.Sin(float64(i)/60); return freed })
			return p.set(record.ColRSS, func(i int) float64 {
				return 500*mib + 32*kib*p.cols[record.ColPipelines][i] +
					16*kib*p.r.NormFloat64()
			})
		}},
	{cause.HandleLeak, "handles without bytes", func() *program {
		return newProgram(600).healthy().grows(record.ColLiveCount, 40, 1, 2).grows(record.ColRefs, 60, 1, 2)
	}},
	{cause.HandleLeak, "events never destroyed", func() *program {
		return newProgram(600).healthy().grows(record.ColRSS, 500*mib, 16*kib, 40*kib).grows(record.ColEvents, 10, 0,
			100).flat(record.ColStreams, 4, 0)
	}},
	{cause.HandleLeak, "streams never destroyed", func() *program {
		return newProgram(600).healthy().grows(record.ColGPU, 700*mib, 0, 64*kib).grows(record.ColStreams, 4, 0,
			1).flat(record.ColEvents, 300, 0)
	}},
	{cause.HandleLeak, "graphs destroyed over the last rows, before their memory is given back", func() *program {
		return newProgram(400).healthy().grows(record.ColGPU, 700*mib, 0, 960*kib).
			set(record.ColGraphs, func(i int) float64 { return max(0, float64(min(6*i, 600*(399-i)))) })
	}},
	{cause.Cycle, "a collection frees the growth", func() *program {
		return newProgram(600).healthy().grows(record.ColLive, 60*mib, 0, 64*kib).grows(record.ColGPU, 700*mib, 0, 64*kib).
			receipt("collect", 30*mib, 30*mib, 590)
	}},
	{cause.Graph, "each step's graph is kept", func() *program {
		return newProgram(600).healthy().grows(record.ColLive, 60*mib, 0, 12*64*kib).grows(record.ColGPU, 700*mib,
			0, 12*64*kib).
			grows(record.ColLiveCount, 40, 1, 12).grows(record.ColRefs, 60, 1, 24)
	}},
	{cause.Clone, "references are left over", func() *program {
		return loading(250*mib, 0).set(record.ColRefs, func(i int) float64 { return 201 * float64(min(i/10, 1)) })
	}},
	{cause.Clone, "references grow alone",
		func() *program { return newProgram(600).healthy().grows(record.ColRefs, 60, 1, 2) }},
	{cause.Finalizers, "buffers go when the heap is collected", func() *program {
		p := newProgram(600).healthy()
		tooth := func(low, high float64) func(int) float64 {
			return func(i int) float64 { return low + (high-low)*float64(i%50)/50 }
		}
		return p.set(record.ColHostHeap, tooth(20*mib, 24*mib)).set(record.ColLive,
			tooth(60*mib, 360*mib)).set(record.ColGPU, tooth(700*mib, 1000*mib))
	}},
	{cause.Resident, "a residency set keeps what is released", func() *program {
		p := newProgram(600).healthy()
		held := func(i int) float64 { return float64(i/60) * 40 * mib }
		p.set(record.ColLive, func(i int) float64 { return 60*mib + 40*mib*math.Min(1, float64(i%60)/50) })
		return p.set(record.ColGPU, func(i int) float64 { return 640*mib + held(i) + p.cols[record.ColLive][i] })
	}},
	{cause.NotEmptied, "released pages stay in the footprint", func() *program {
		p := newProgram(600).healthy().unified()
		p.set(record.ColGPU, func(i int) float64 { return 200*mib + 40*mib*math.Min(1, float64(i%60)/50) })
		p.set(record.ColLive, func(i int) float64 { return p.cols[record.ColGPU][i] - 20*mib })
		p.set(record.ColIdle, func(int) float64 { return 20 * mib })
		return p.set(record.ColFootprint, func(i int) float64 {
			return 600*mib + 40*mib*math.Min(1, float64(i%60)/50) + float64(i/60)*40*mib + 16*kib*p.r.NormFloat64()
		})
	}},
	{cause.NotEmptied, "a purge that the footprint does not follow", func() *program {
		p := newProgram(600).healthy().flat(record.ColFootprint, 1500*mib, 16*kib).unified().receipt("purge", 64*mib, 0, 590)
		gpu := int64(64 * mib)
		p.events[0].Receipt.GPUBytes = &gpu
		return p
	}},
	{cause.Ceiling, "half a million small buffers",
		func() *program { return newProgram(600).healthy().flat(record.ColLiveCount, 450_000, 1) }},
	{cause.Ceiling, "few buffers where the device allows few", func() *program {
		return newProgram(600).healthy().flat(record.ColLiveCount, 4500, 1).flat(record.ColBuffersLimit, 5000, 0)
	}},
	{cause.Driver, "the driver keeps something each second", func() *program {
		return newProgram(600).healthy().grows(record.ColGPU, 700*mib, 0, 64*kib).flat(record.ColDriverAllocBytes, 80*mib, 0)
	}},
	{cause.Driver, "the driver's host memory",
		func() *program { return newProgram(600).healthy().grows(record.ColRSS, 500*mib, 16*kib, 64*kib) }},
	{cause.WarmUp, "pages are touched after they were allocated", func() *program {
		p := newProgram(600).healthy().unified()
		p.set(record.ColGPU, func(i int) float64 { return 100*mib + 400*mib*float64(min(i/10, 1)) })
		p.set(record.ColLive, func(i int) float64 { return p.cols[record.ColGPU][i] - 60*mib })
		p.set(record.ColIdle, func(int) float64 { return 20 * mib })
		return p.set(record.ColFootprint, func(i int) float64 { return 600*mib + 4*mib*math.Min(100, float64(max(0, i-10))) })
	}},
	{cause.Purge, "a purge that returns nothing",
		func() *program { return newProgram(600).healthy().receipt("purge", 20*mib, 0, 590) }},
	{cause.Dead, "the process is gone, its device memory is not", func() *program {
		p := newProgram(600).healthy()
		for i := 560; i < 600; i++ {
			p.cols[record.ColRSS][i] = record.Unknown()
		}
		return p
	}},
	{cause.Tooling, "GPU capture is on", func() *program {
		p := newProgram(600).healthy().grows(record.ColRSS, 500*mib, 16*kib, 128*kib)
		p.meta.Env = map[string]string{"MTL_CAPTURE_ENABLED": "1", "NSZombieEnabled": "NO"}
		return p
	}},
}

// unified makes the program's device one whose memory is the host's.
func (p *program) unified() *program {
	yes := true
	p.meta.UnifiedMemory = &yes
	return p
}

// refilling is a program whose pool fills and is emptied so many times.
func refilling(times float64) *program {
	p := newProgram(600).healthy()
	phase := 0.
	p.set(record.ColIdle, func(int) float64 {
		if phase += times / 600; phase > 1 {
			phase = 0
		}
		return 4000 * mib * phase
	})
	return p.set(record.ColGPU, func(i int) float64 { return 700*mib + p.cols[record.ColIdle][i] })
}

func TestEachCauseIsNamedOnItsFaultAndOnNoOther(t *testing.T) {
	t.Parallel()
	for _, c := range planted {
		t.Run(c.cause+", "+c.fault, func(t *testing.T) {
			t.Parallel()
			v := c.make().judge()
			if !named(v, c.cause) {
				t.Errorf("it is not named: %s, causes %+v", v.Summary, v.Causes)
			}
			for _, got := range v.Causes {
				if got.ID != c.cause {
					t.Errorf("%s is named too: %v", got.ID, got.Evidence)
				}
				if len(got.Evidence) == 0 || got.Next == "" {
					t.Errorf("%s comes without evidence or next step", got.ID)
				}
			}
		})
	}
	if v := newProgram(600).healthy().judge(); len(v.Causes) > 0 {
		t.Errorf("a healthy program is given causes: %+v", v.Causes)
	}
}

func TestManyBuffersAreNoCeilingWhereTheDeviceAllowsMore(t *testing.T) {
	t.Parallel()
	p := newProgram(600).healthy().flat(record.ColLiveCount, 450_000, 1).flat(record.ColBuffersLimit, math.MaxInt32, 0)
	if v := p.judge(); len(v.Causes) > 0 {
		t.Errorf("causes %+v", v.Causes)
	}
}

// On a busy machine the tracer reads the footprint after the program read what
// the device counts: rows later than it was, or, seen from a row, too early.
func TestAFootprintThatIsReadApartFollowsWhatIsReleased(t *testing.T) {
	t.Parallel()
	for _, apart := range []int{-8, 0, 8} {
		p := newProgram(600).healthy().unified()
		gpu := func(i int) float64 { return 200*mib + 40*mib*float64((i+60)/30%2) }
		p.set(record.ColGPU, gpu).set(record.ColLive, func(i int) float64 { return gpu(i) - 20*mib })
		p.set(record.ColFootprint, func(i int) float64 { return 600*mib + gpu(i+apart) + 64*kib*float64(i) })
		if v := p.judge(); v.Verdict == None || named(v, cause.NotEmptied) {
			t.Errorf("read %d rows apart: %s, causes %+v", apart, v.Summary, v.Causes)
		}
	}
}

// The Go agent tells its heap up to 10 ms late: rows, where there are a thousand
// a second.
func TestAHeapThatIsToldLateStillShowsTheCollector(t *testing.T) {
	t.Parallel()
	p := newProgram(3000).healthy().set(record.ColTime, func(i int) float64 { return float64(i) })
	tooth := func(late int, low, high float64) func(int) float64 {
		return func(i int) float64 { return low + (high-low)*float64((i+500-late)%500)/500 }
	}
	p.set(record.ColHostHeap, tooth(9, 20*mib, 24*mib)).set(record.ColLive,
		tooth(0, 60*mib, 360*mib)).set(record.ColGPU, tooth(0, 700*mib, 1000*mib))
	if v := p.judge(); !named(v, cause.Finalizers) {
		t.Errorf("%s, causes %+v", v.Summary, v.Causes)
	}
}

// Columns are read once in three rows, as slow ones are.
func TestCellsThatAreUnknownGiveNoCause(t *testing.T) {
	t.Parallel()
	p := newProgram(900).healthy().flat(record.ColIdleCount, 12, 1).flat(record.ColPipelines, 7,
		0).flat(record.ColShapes, 7, 0)
	for _, c := range account.HandleKinds() {
		p.flat(c.Column, 40, 1)
	}
	for name, v := range p.cols {
		for i := range v {
			if i%3 != 0 && name != record.ColTime {
				v[i] = record.Unknown()
			}
		}
	}
	if v := p.judge(); v.Verdict != None || len(v.Causes) > 0 {
		t.Errorf("%s with causes %+v", v.Summary, v.Causes)
	}
}

func TestMemoryAskedOfTheDriverIsNotTheDriversOwn(t *testing.T) {
	t.Parallel()
	unknown := newProgram(600).healthy().grows(record.ColGPU, 700*mib, 0, 64*kib)
	asked := newProgram(600).healthy().grows(record.ColGPU, 700*mib, 0, 64*kib).grows(record.ColDriverAllocBytes,
		80*mib, 0, 64*kib)
	for name, p := range map[string]*program{"not recorded": unknown, "asked for": asked} {
		if v := p.judge(); v.Verdict != DriverGrowth || len(v.Causes) > 0 {
			t.Errorf("%s: %s with causes %+v", name, v.Verdict, v.Causes)
		}
	}
}

func TestReferencesLeftAfterABacklogWasDoneAreACauseOfTheirOwn(t *testing.T) {
	t.Parallel()
	flying := func(left float64) func(int) float64 {
		return func(i int) float64 { return left + float64(3*i*min(1, max(0, 40-i))) }
	}
	p := loading(250*mib, 0).set(record.ColRefs, func(i int) float64 { return 201 * float64(min(i/10, 1)) })
	if v := p.set(record.ColInFlight, flying(0)).judge(); !named(v, cause.Backlog) || !named(v, cause.Clone) {
		t.Errorf("the device had nothing to do at released: %+v", v.Causes)
	}
	if v := p.set(record.ColInFlight, flying(7)).judge(); !named(v, cause.Backlog) || named(v, cause.Clone) {
		t.Errorf("7 command buffers were in flight at released: %+v", v.Causes)
	}
}

func TestToolsAreNamedWhenTheyAreOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, value string
		tool        bool
	}{
		{"MTL_DEBUG_LAYER", "1", true}, {"MTL_DEBUG_LAYER", "0", false}, {"NSZombieEnabled", "YES", true},
		{"MallocStackLogging", "off", false},
		{"DYLD_INSERT_LIBRARIES", "/usr/lib/libgmalloc.dylib", true}, {"LD_PRELOAD", "libjemalloc.so.2", false},
		{"LD_PRELOAD", "/usr/lib/libasan.so.8", true},
	} {
		p := newProgram(600).healthy().grows(record.ColLive, 60*mib, 0, 64*kib).grows(record.ColGPU, 700*mib, 0, 64*kib)
		p.meta.Env = map[string]string{c.name: c.value}
		if v := p.judge(); named(v, cause.Tooling) != c.tool {
			t.Errorf("%s=%s: %+v", c.name, c.value, v.Causes)
		}
	}
}

func TestAutoreleasePoolsAreNamedOnMetalAlone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		driver, os string
		metal      bool
	}{{"apple", "darwin/arm64", true}, {"soft", "linux/amd64", true}, {"", "", true}, {"", "darwin/arm64", true},
		{"", "linux/amd64", false}, {"cuda", "linux/amd64", false}, {"nvidia 580.159.04", "linux/amd64", false}} {
		p := newProgram(600).healthy().grows(record.ColCommands, 0, 0, 30).grows(record.ColRSS, 500*mib, 16*kib, 60*kib)
		p.meta.Driver, p.meta.OS = c.driver, c.os
		if v := p.judge(); named(v, cause.Autorelease) != c.metal {
			t.Errorf("driver %q on %q: %+v", c.driver, c.os, v.Causes)
		}
	}
}

func TestReferencesThatNobodyCountedAreNoClone(t *testing.T) {
	t.Parallel()
	if v := loading(250*mib, 0).judge(); v.Verdict != AppLeak || len(v.Causes) > 0 {
		t.Errorf("%s with causes %+v", v.Verdict, v.Causes)
	}
}

func TestAPoolThatIsEmptiedAgainAndAgainIsLeftOpenWithTheReason(t *testing.T) {
	t.Parallel()
	for _, times := range []float64{1.4, 2.5, 6.2, 15.3} {
		v := refilling(times).judge()
		if v.Verdict != Undecided || !strings.Contains(v.Summary, "was not recorded") || v.MoreMinutes != nil {
			t.Errorf("%.1f fillings: %s", times, v.Summary)
		}
		v = refilling(times).grows(record.ColDriverFailed, 0, 0, .01).judge()
		if v.Verdict != PoolGrowth || v.RestsOn != ByRefill || v.Tier != Likely ||
			!strings.Contains(v.Summary, "allocations failed") {
			t.Errorf("%.1f fillings until allocations fail: %s %s", times, v.Tier, v.Summary)
		}
	}
	spikes := newProgram(600).healthy()
	spikes.set(record.ColIdle, func(i int) float64 { return 20*mib + 500*mib*float64(max(0, i%60-57)) })
	spikes.set(record.ColGPU, func(i int) float64 { return 680*mib + spikes.cols[record.ColIdle][i] })
	if v := spikes.judge(); v.Verdict != None {
		t.Errorf("an evaluation that allocates, frees and empties: %s", v.Summary)
	}
	reused := newProgram(600).healthy()
	reused.set(record.ColIdle, func(i int) float64 { return 500 * mib * float64(i%60) / 60 })
	reused.set(record.ColLive, func(i int) float64 { return 600*mib - reused.cols[record.ColIdle][i] })
	if v := reused.judge(); v.Verdict != None {
		t.Errorf("a pool that hands out again what it got back: %s", v.Summary)
	}
}

func TestPurgeThatReturnsTheGrowthProvesRetention(t *testing.T) {
	t.Parallel()
	p := newProgram(600).healthy().grows(record.ColGPU, 700*mib, 0, 64*kib)
	for _, c := range []string{record.ColLive, record.ColIdle, record.ColLiveCount, record.ColRefs} {
		delete(p.cols, c)
	}
	if v := p.judge(); v.Verdict != Undecided {
		t.Fatalf("without experiment: %s", v.Verdict)
	}
	p.receipt("purge", 37*mib, 37*mib, 598)
	v := p.judge()
	if v.Verdict != PoolGrowth || v.Tier != Confirmed {
		t.Errorf("after a purge that returned the growth: %s %s", v.Verdict, v.Tier)
	}
	if len(v.Experiments) != 1 {
		t.Errorf("experiments %+v", v.Experiments)
	}
	p.events = nil
	if v := p.receipt("collect", 0, 0, 597).judge(); strings.Contains(v.Summary, "neither") {
		t.Errorf("without a purge: %s", v.Summary)
	}
	if v := p.receipt("purge", 0, 0, 598).judge(); v.Verdict != Undecided ||
		!strings.Contains(v.Summary, "neither collecting garbage nor purging the pool gave it back") {
		t.Errorf("after experiments in vain: %s", v.Summary)
	}
}
