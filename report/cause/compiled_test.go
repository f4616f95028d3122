package cause

import (
	"testing"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/tracer/record"
)

func TestModulesAreOfTheLineThatHasCodeCompiled(t *testing.T) {
	t.Parallel()
	const line = "/a/score.py:51 program"
	modules := account.HandleKind{Column: record.ColModules, Name: "modules", Cached: true}
	events := account.HandleKind{Column: record.ColEvents, Name: "events"}
	for name, c := range map[string]struct {
		kind     account.HandleKind
		compiled []Compilation
		want     string
	}{
		"one line, again and again": {modules, []Compilation{{Site: line, Count: 14},
			{Site: "/a/score.py:9 warm", Count: 2}}, Compiled},
		"a few times": {modules, []Compilation{{Site: line, Count: 4}}, HandleLeak},
		"many lines": {modules, []Compilation{{Site: line, Count: 8}, {Site: "/b.py:1", Count: 7},
			{Site: "/c.py:1", Count: 7}}, HandleLeak},
		"nothing was compiled": {modules, nil, HandleLeak},
		"events":               {events, []Compilation{{Site: line, Count: 14}}, HandleLeak},
	} {
		of := &Case{Class: account.DriverGrowth, Confidence: .7, ByTrend: true, Size: 543, Kind: c.kind,
			Compilations: c.compiled}
		of.Grows = &of.Handles
		got := Of(of)
		if len(got) == 0 || got[0].ID != c.want {
			t.Errorf("%s: causes %v, want %s first", name, idsOf(got), c.want)
			continue
		}
		if c.want == Compiled && got[0].Site != line {
			t.Errorf("%s: at %q", name, got[0].Site)
		}
	}
}

func TestFunctionsOfTorchScriptKeepTheirConstants(t *testing.T) {
	t.Parallel()
	const line = "/a/warp.py:44 measure"
	nameless := record.Holder{Path: "Tensor (768, 768): a reference cycle or native code", Bytes: 40 * mib, Count: 20}
	named := record.Holder{Path: "list warp.maps", Bytes: 40 * mib, Count: 20}
	for name, c := range map[string]struct {
		by   string
		held record.Holder
		want bool
	}{
		"no name leads to them":  {torchScript, nameless, true},
		"the program keeps them": {torchScript, named, false},
		"JAX compiles":           {"jax", nameless, false},
	} {
		of := &Case{Class: account.AppLeak, Confidence: .9, ByTrend: true, Size: 40 * mib,
			Holders: []record.Holder{c.held}, Compilations: []Compilation{{Site: line, Count: 20, By: c.by}}}
		of.Grows = &of.Live
		found := Of(of)
		if is := len(found) > 0 && found[0].ID == Compiled && found[0].Site == line; is != c.want {
			t.Errorf("%s: %v", name, idsOf(found))
		}
	}
}

func TestWhatACacheOfCompiledFunctionsKeepsHasTheLineThatCompiles(t *testing.T) {
	t.Parallel()
	const line = "/a/map.py:81 main"
	of := &Case{Class: account.AppLeak, Confidence: .9, ByTrend: true, Size: 40 * mib,
		Holders:      []record.Holder{{Path: "jax._src.partial_eval.trace_to_jaxpr", Bytes: 40 * mib, Count: 20}},
		Compilations: []Compilation{{Site: line, Count: 20, By: "jax"}}}
	of.Grows = &of.Live
	if found := Of(of); len(found) == 0 || found[0].ID != Compiled || found[0].Site != line {
		t.Errorf("%+v", found)
	}
	of.Compilations[0].Count = 2
	if found := Of(of); len(found) == 0 || found[0].Site != "" {
		t.Errorf("compiled twice: %+v", found)
	}
}
