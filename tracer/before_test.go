package tracer

import (
	"testing"

	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/tracer/record"
)

func TestWhatAProcessHeldBeforeTheAttachIsNeverBelowNothing(t *testing.T) {
	t.Parallel()
	r := &recording{main: 1, before: &before{device: probe.Unknown}}
	f := &followed{pid: 1, gpu: 1000}
	asked := record.Cell{Column: record.ColDriverAllocBytes, Value: 10}
	f.more = []record.Cell{asked, {Column: record.ColDriverAllocs, Value: 1}}
	r.noteBefore(f, nil)
	if r.before.device != 1000 || r.before.hasPool {
		t.Errorf("before the agent: %+v", r.before)
	}
	if got := r.captured(f, false); len(got) != 2 {
		t.Errorf("without a pool, what it asks of the driver is %v", got)
	}
	r.noteBefore(f, []record.Cell{{Column: record.ColLive, Value: 700}, {Column: record.ColIdle, Value: 100}})
	if b := *r.before; !b.hasPool || b.live != 700 || b.idle != 100 || b.charged != 1000 {
		t.Errorf("with the agent: %+v", b)
	}
	// 10 B since the attach, less a pool of 800 B, would be -790 B of others.
	if got := r.captured(f, false); len(got) != 1 || got[0].Column != record.ColDriverAllocs {
		t.Errorf("beside a pool and without the driver's word, what it asks of the driver is %v", got)
	}
	if got := r.captured(f, true); len(got) != 2 {
		t.Errorf("beside the driver's word it is %v", got)
	}
}
