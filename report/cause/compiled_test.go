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
		"one line, again and again": {modules, []Compilation{{line, 14}, {"/a/score.py:9 warm", 2}}, Compiled},
		"a few times":               {modules, []Compilation{{line, 4}}, HandleLeak},
		"many lines":                {modules, []Compilation{{line, 8}, {"/b.py:1", 7}, {"/c.py:1", 7}}, HandleLeak},
		"nothing was compiled":      {modules, nil, HandleLeak},
		"events":                    {events, []Compilation{{line, 14}}, HandleLeak},
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
