package verdict

import (
	"testing"

	"github.com/gpumem/gpumem/report/cause"
	"github.com/gpumem/gpumem/tracer/record"
)

// ending is a program whose live memory, or host heap, grows by 64 KiB a row and
// which then collects garbage at its end, with the holders that were seen.
func ending(column string, off bool, holders ...record.Holder) *program {
	p := newProgram(600).healthy().grows(column, 500*mib, 16*kib, 64*kib)
	if column != record.ColLive {
		p.grows(record.ColHostHeap, 100*mib, 16*kib, 64*kib)
	} else {
		p.grows(record.ColLive, 60*mib, 0, 64*kib).grows(record.ColGPU, 700*mib, 0,
			64*kib).grows(record.ColLiveCount, 40, 1, 2)
	}
	p.events = append(p.events, record.Event{TMs: 580 * 50, Kind: record.KindPhase, Name: record.PhaseExiting})
	p.receipt("collect", 30*mib, 30*mib, 590)
	p.events[1].Receipt.CollectorOff = off
	if len(holders) > 0 {
		p.events = append(p.events, record.Event{TMs: 591 * 50, Kind: record.KindHolders, Holders: holders})
	}
	return p
}

func TestWhatBecameGarbageAtTheEndIsNoCycle(t *testing.T) {
	t.Parallel()
	history := record.Holder{Path: "list train() local history", Gone: true, Bytes: 8 * mib, Count: 128}
	some := record.Holder{Path: "list step() local grads", Gone: true, Bytes: mib, Count: 8}
	for name, c := range map[string]struct {
		p    *program
		want bool
	}{
		"nobody was seen to hold it":              {ending(record.ColLive, false), true},
		"a list held it while the program ran":    {ending(record.ColLive, false, history), false},
		"others were seen to hold a little":       {ending(record.ColLive, false, some), true},
		"the collector was off":                   {ending(record.ColLive, true, history), true},
		"host memory":                             {ending(record.ColFootprint, false), false},
		"host memory, while the collector is off": {ending(record.ColFootprint, true), true},
	} {
		if v := c.p.judge(); named(v, cause.Cycle) != c.want {
			t.Errorf("%s: %s, causes %+v", name, v.Summary, v.Causes)
		}
	}
}

func TestAGraphIsNamedByWhoKeepsItAndNotGuessedBesideAHolder(t *testing.T) {
	t.Parallel()
	history := record.Holder{Path: "list train() local history", Gone: true, Bytes: 8 * mib, Count: 128}
	total := record.Holder{Path: "train() local total", Graph: "Add outputs", Gone: true, Bytes: 12 * mib, Count: 1}
	small := record.Holder{Path: "train() local total", Graph: "Add outputs", Bytes: mib, Count: 1}
	for name, c := range map[string]struct {
		p    *program
		want bool
	}{
		"two handles a step, nobody known":      {stepping(ending(record.ColLive, false)), true},
		"two handles a step, kept by a list":    {stepping(ending(record.ColLive, false, history)), false},
		"an output keeps it":                    {ending(record.ColLive, false, total), true},
		"an output keeps it on the host's heap": {ending(record.ColFootprint, false, total), true},
		"a graph that holds a little":           {ending(record.ColFootprint, false, small), false},
	} {
		if v := c.p.judge(); named(v, cause.Graph) != c.want {
			t.Errorf("%s: %s, causes %+v", name, v.Summary, v.Causes)
		}
	}
}

// stepping counts a step a row, and nobody counts references.
func stepping(p *program) *program {
	delete(p.cols, record.ColRefs)
	return p.set(record.ColStep, func(i int) float64 { return float64(i) })
}
