package verdict

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/cause"
	"github.com/gpumem/gpumem/tracer/record"
)

// capturing is a program whose pool keeps 2 MiB more with each graph that it captures, two a second,
// and a dictionary that has so many entries for each.
func capturing(each float64) *program {
	p := newProgram(800).healthy()
	p.set(record.ColIdle, func(i int) float64 { return 20*mib + mib*float64(i)/5 }).
		set(record.ColGPU, func(i int) float64 { return 700*mib + mib*float64(i)/5 }).
		set(record.ColGraphs, func(i int) float64 { return float64(i / 10) })
	for at, over := 3., 2.; at < 40; at, over = at+over, 2*over {
		p.events = append(p.events, record.Event{TMs: at * 1000, Kind: record.KindHolders, Holders: []record.Holder{{
			Path: "dict main() local jury.graphs[…]", Bytes: int64(over) * 2048, Count: int64(2 * over),
			Length: int64(each * 2 * at), OverMs: over * 1000, Filled: "/srv/app/jury.py:76 captured"}}})
	}
	p.events = append(p.events, record.Event{TMs: 39_900, Kind: record.KindComposition, Name: "torch",
		Detail: fmt.Appendf(nil, `{"pools":[{"kind":"large","stream":0,"private":true,"live_bytes":0,"idle_bytes":%d}]}`, int64(160*mib))})
	return p
}

func TestWhoKeepsCapturedGraphsHasAnEntryForEach(t *testing.T) {
	t.Parallel()
	const kept = ", kept in dict main() local jury.graphs[…], filled at app/jury.py:76 in captured."
	v := capturing(1).judge()
	if v.Verdict != PoolGrowth || len(v.Causes) == 0 || v.Causes[0].ID != cause.GraphPools || !strings.HasSuffix(v.Answer, kept) {
		t.Errorf("%s, causes %+v", v.Answer, v.Causes)
	}
	for name, each := range map[string]float64{"half as many": .5, "twice as many": 2} {
		if v := capturing(each).judge(); strings.Contains(v.Answer, "kept in") {
			t.Errorf("%s: %s", name, v.Answer)
		}
	}
}
