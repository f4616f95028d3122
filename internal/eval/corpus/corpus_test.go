package corpus

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

func TestSameSeedMakesTheSameTrace(t *testing.T) {
	t.Parallel()
	for i := 0; i < 60; i++ {
		a, b := One(5, i), One(5, i)
		if a.Truth != b.Truth || a.Run.Samples.Len() != b.Run.Samples.Len() {
			t.Fatalf("trace %d differs", i)
		}
		for _, n := range a.Run.Samples.Names() {
			x, y := a.Run.Samples.Column(n), b.Run.Samples.Column(n)
			for k := range x {
				if x[k] != y[k] && (x[k] == x[k] || y[k] == y[k]) {
					t.Fatalf("trace %d, %s, row %d: %v and %v", i, n, k, x[k], y[k])
				}
			}
		}
	}
}

func TestEveryRegimeAndEveryKindComesUp(t *testing.T) {
	t.Parallel()
	regimes, seen, healthy := map[string]int{}, map[string]int{}, 0
	for _, tr := range Generate(6, 2*len(Regimes)*len(kinds)) {
		regimes[tr.Regime]++
		seen[tr.Kind]++
		if tr.Truth == None {
			healthy++
		}
		if tr.Truth != None && !(tr.Sigmas > 0) {
			t.Errorf("%s grows without a size", tr.Kind)
		}
	}
	for _, g := range Regimes {
		if regimes[g] == 0 {
			t.Errorf("regime %s does not come up", g)
		}
	}
	for _, k := range kinds {
		if seen[k.name] == 0 {
			t.Errorf("kind %s does not come up", k.name)
		}
	}
	if healthy != len(Regimes)*len(kinds) {
		t.Errorf("%d healthy traces", healthy)
	}
}

func TestAHealthyTraceIsOneOfItsRegimeThatDoesNotGrow(t *testing.T) {
	t.Parallel()
	for _, g := range Regimes {
		for i := range 5 {
			if tr := HealthyOne(6, g, i); tr.Truth != None || tr.Regime != g && g != "late" {
				t.Errorf("%s, number %d: %s under %s", g, i, tr.Truth, tr.Regime)
			}
		}
	}
}

func TestDrivenTracesCarryTheirCosts(t *testing.T) {
	t.Parallel()
	for i, d := range DrivenBy(6, 40) {
		last := func(name string) float64 { v := d.Run.Samples.Column(name); return v[len(v)-1] - v[0] }
		bytes := 0.
		for u, cost := range d.Cost {
			total := last(record.ColTime) / 1000
			for _, c := range unitColumns {
				if c.unit == u {
					total = last(c.column)
				}
			}
			bytes += cost * total
		}
		column := map[record.Account]string{
			record.AccountLive: record.ColLive, record.AccountIdle: record.ColIdle,
			record.AccountHost: record.ColRSS,
		}[d.Account]
		if grown := last(column); grown < bytes-4*mib || grown > bytes+4*mib {
			t.Errorf("trace %d: %s grows by %.0f, its units cost %.0f", i, d.Account, grown, bytes)
		}
	}
}

func TestRealTracesAreAllThereWithTheirLabels(t *testing.T) {
	t.Parallel()
	all, err := Real()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 24 {
		t.Errorf("%d traces", len(all))
	}
	for _, tr := range all {
		if tr.Truth == "" || tr.Run.Samples.Len() < 700 {
			t.Errorf("%s: label %q, %d rows", tr.Kind, tr.Truth, tr.Run.Samples.Len())
		}
	}
}

func TestGeneratorAndEngineDoNotImportEachOther(t *testing.T) {
	t.Parallel()
	for dir, other := range map[string]string{".": "report/verdict\"",
		"../../../report/verdict": "internal/eval/corpus\""} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no sources in %s: %v", dir, err)
		}
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			src, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			tree, err := parser.ParseFile(token.NewFileSet(), f, src, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range tree.Imports {
				if strings.HasSuffix(i.Path.Value, other) {
					t.Errorf("%s imports %s", f, i.Path.Value)
				}
			}
		}
	}
}
