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
		Detail: fmt.Appendf(nil, `{"pools":[{"kind":"large","stream":0,"private":true,"live_bytes":0,"idle_bytes":%d}]}`,
			int64(160*mib))})
	return p
}

func TestWhoKeepsCapturedGraphsHasAnEntryForEach(t *testing.T) {
	t.Parallel()
	const kept = ", kept in dict main() local jury.graphs[…], filled at app/jury.py:76 in captured."
	v := capturing(1).judge()
	if v.Verdict != PoolGrowth || len(v.Causes) == 0 || v.Causes[0].ID != cause.GraphPools ||
		!strings.HasSuffix(v.Answer, kept) {
		t.Errorf("%s, causes %+v", v.Answer, v.Causes)
	}
	for name, each := range map[string]float64{"half as many": .5, "twice as many": 2} {
		if v := capturing(each).judge(); strings.Contains(v.Answer, "kept in") {
			t.Errorf("%s: %s", name, v.Answer)
		}
	}
}

func TestPoolsThatAProgramMakesAreTheirOwn(t *testing.T) {
	t.Parallel()
	p := newProgram(800).healthy().with("torch")
	p.set(record.ColIdle, func(i int) float64 { return 20*mib + mib*float64(i) }).
		set(record.ColGPU, func(i int) float64 { return 700*mib + mib*float64(i) })
	p.events = append(p.events, record.Event{TMs: 36_000, Kind: record.KindHolders, Holders: []record.Holder{{
		Path: "MemPool objects below main() local tomograph.pools", Count: 21, Length: 41, OverMs: 16_000,
		Filled: "/srv/app/muons.py:38 pool"}}})
	v := p.judge()
	const came = "meanwhile 21 more MemPool objects below main() local tomograph.pools came, " +
		"made at app/muons.py:38 in pool"
	if v.Verdict != PoolGrowth || !strings.Contains(v.Answer, came) ||
		!strings.Contains(v.Answer, "cause: pools kept") ||
		!strings.HasPrefix(v.Next, "at app/muons.py:38 in pool: drop each of the MemPool objects below "+
			"main() local tomograph.pools when") {
		t.Errorf("%s, next %s", v.Answer, v.Next)
	}
}

func TestOutputsThatAreReplacedByOnesMadeFromThemAreNamed(t *testing.T) {
	t.Parallel()
	kept := HolderRow{Path: "dict main() local shelf.tastes", Graphs: true, Bytes: 33_024, Count: 43, Length: 80,
		OverMs: 6000, Filled: "/srv/app/tastes.py:53 looked_at"}
	v := &Verdict{Causes: []Cause{{ID: cause.Graph, Confidence: .9}}, Holders: []HolderRow{kept}}
	const want = ", of outputs in dict main() local shelf.tastes, filled at app/tastes.py:53 in looked_at"
	if got := keptOutputs(v); got != want {
		t.Errorf("%q", got)
	}
	v.Holders[0].Graph = "Add outputs" // it was weighed, and is told with its bytes
	if got := keptOutputs(v); got != "" {
		t.Errorf("weighed: %q", got)
	}
	v.Holders[0].Graph, v.Causes[0].ID = "", cause.Results
	if got := keptOutputs(v); got != "" {
		t.Errorf("of another cause: %q", got)
	}
}
