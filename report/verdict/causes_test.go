package verdict

import (
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// planted are programs with one fault each and the cause it must be given.
var planted = []struct {
	cause string
	make  func() *program
}{
	{CauseAutorelease, func() *program {
		return newProgram(600).healthy().grows(record.ColCommands, 0, 0, 30).grows(record.ColCommandBuffers, 0, 0, 3).
			grows(record.ColRSS, 500*mib, 16*kib, 30*2*kib)
	}},
	{CauseBacklog, func() *program { return newProgram(600).healthy().grows(record.ColInFlight, 3, 1, .5) }},
	{CauseBacklog, func() *program {
		return newProgram(600).healthy().grows(record.ColCommands, 0, 0, 13).flat(record.ColCommandBuffers, 1, 0)
	}},
	{CausePolicy, func() *program { return loading(0, 1180*mib) }},
	{CauseMisses, func() *program {
		return newProgram(600).healthy().grows(record.ColIdle, 20*mib, 0, 64*kib).grows(record.ColGPU, 700*mib, 0, 64*kib).
			grows(record.ColPoolMisses, 0, 0, 4).grows(record.ColPoolHits, 0, 0, .1).grows(record.ColShapes, 0, 0, .5)
	}},
	{CauseCompile, func() *program {
		return newProgram(600).healthy().grows(record.ColRSS, 500*mib, 16*kib, 128*kib).grows(record.ColShapes, 0, 0, .2).
			grows(record.ColPipelines, 0, 0, .2)
	}},
	{CauseHandles, func() *program {
		return newProgram(600).healthy().grows(record.ColLiveCount, 40, 1, 2).grows(record.ColRefs, 60, 1, 2)
	}},
	{CauseCycle, func() *program {
		return newProgram(600).healthy().grows(record.ColLive, 60*mib, 0, 64*kib).grows(record.ColGPU, 700*mib, 0, 64*kib).
			receipt("collect", 30*mib, 30*mib, 590)
	}},
	{CauseGraph, func() *program {
		return newProgram(600).healthy().grows(record.ColLive, 60*mib, 0, 12*64*kib).grows(record.ColGPU, 700*mib, 0, 12*64*kib).
			grows(record.ColLiveCount, 40, 1, 12).grows(record.ColRefs, 60, 1, 24)
	}},
	{CauseClone, func() *program { return loading(250*mib, 0) }},
	{CauseClone, func() *program { return newProgram(600).healthy().grows(record.ColRefs, 60, 1, 2) }},
	{CausePurge, func() *program { return newProgram(600).healthy().receipt("purge", 20*mib, 0, 590) }},
	{CauseDead, func() *program {
		p := newProgram(600).healthy()
		for i := 560; i < 600; i++ {
			p.cols[record.ColRSS][i] = record.Unknown()
		}
		return p
	}},
	{CauseTooling, func() *program {
		p := newProgram(600).healthy().grows(record.ColRSS, 500*mib, 16*kib, 128*kib)
		p.meta.Env = map[string]string{"MTL_CAPTURE_ENABLED": "1", "NSZombieEnabled": "NO"}
		return p
	}},
}

func TestEachCauseIsNamedOnItsFaultAndOnNoOther(t *testing.T) {
	t.Parallel()
	for _, c := range planted {
		v := c.make().judge()
		if !named(v, c.cause) {
			t.Errorf("%s is not named; %s, causes %+v", c.cause, v.Summary, v.Causes)
		}
		for _, got := range v.Causes {
			if got.ID != c.cause {
				t.Errorf("%s is also named on the fault %s: %v", got.ID, c.cause, got.Evidence)
			}
			if len(got.Evidence) == 0 || got.Next == "" {
				t.Errorf("%s comes without evidence or next step", got.ID)
			}
		}
	}
	if v := newProgram(600).healthy().judge(); len(v.Causes) > 0 {
		t.Errorf("a healthy program is given causes: %+v", v.Causes)
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
}
