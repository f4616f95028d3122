package peak_test

import (
	"encoding/json"
	"testing"

	"github.com/gpumem/gpumem/report/peak"
)

func memoryOf(bytes int64, parts ...peak.Category) peak.Memory {
	return peak.Memory{Peak: &peak.Peak{Bytes: bytes, Categories: parts}}
}

func TestACompositionIsComparedCategoryByCategory(t *testing.T) {
	t.Parallel()
	base := memoryOf(100, peak.Category{Name: "parameters", Bytes: 40}, peak.Category{Name: "buffers", Bytes: 10},
		peak.Category{Name: "activations", Bytes: 30}, peak.Category{Name: "gradients", Bytes: 20})
	new := memoryOf(155, peak.Category{Name: "parameters", Bytes: 40}, peak.Category{Name: "activations", Bytes: 90},
		peak.Category{Name: "gradients", Bytes: 5}, peak.Category{Name: "temporaries", Bytes: 20})
	c := peak.CompareTops(base, new)
	want := []peak.Compared{{"activations", 30, 90, "grown"}, {"temporaries", 0, 20, "new"},
		{"gradients", 20, 5, "shrunk"}, {"buffers", 10, 0, "gone"}, {"parameters", 40, 40, "same"}}
	if len(c.Categories) != len(want) || c.BaseBytes != 100 || c.NewBytes != 155 {
		t.Fatalf("%+v", c)
	}
	for i, w := range want {
		if c.Categories[i] != w {
			t.Errorf("%d: %+v, want %+v", i, c.Categories[i], w)
		}
	}
}

func TestARunThatRanOutIsComparedAtItsError(t *testing.T) {
	t.Parallel()
	died := memoryOf(70, peak.Category{Name: "parameters", Bytes: 70})
	died.OOM = &peak.OOM{Died: true, Incomplete: true, Composition: []peak.Category{{Name: "parameters", Bytes: 80}}}
	c := peak.CompareTops(memoryOf(70, peak.Category{Name: "parameters", Bytes: 70}), died)
	if c.BaseMoment != peak.MomentPeak || c.NewMoment != peak.MomentOOM || c.NewBytes != 80 || !c.Incomplete {
		t.Errorf("%+v", c)
	}
	died.OOM.Died = false
	if c = peak.CompareTops(died, died); c.NewMoment != peak.MomentPeak {
		t.Errorf("an error that was caught: %+v", c)
	}
}

func TestRunsOfWhichOneTellsNothingAreNotCompared(t *testing.T) {
	t.Parallel()
	some := memoryOf(1, peak.Category{Name: "parameters", Bytes: 1})
	some.Composition = &peak.Composition{Bytes: 1, Categories: some.Peak.Categories}
	for _, pair := range [][2]peak.Memory{{some, {}}, {{}, some}, {{}, {}}} {
		if a, b := peak.CompareTops(pair[0], pair[1]), peak.CompareEnds(pair[0], pair[1]); a != nil || b != nil {
			t.Errorf("%+v, %+v", a, b)
		}
	}
	if peak.CompareEnds(some, some) == nil {
		t.Error("two compositions were not compared")
	}
}

func TestEveryLineOfAPeakIsKeptForAComparison(t *testing.T) {
	t.Parallel()
	p, _ := peak.OfWindow(window(t))
	sum := int64(0)
	for _, s := range p.EverySite() {
		sum += s.Bytes
	}
	if sum != p.Bytes {
		t.Errorf("lines sum to %d of %d", sum, p.Bytes)
	}
	text, _ := json.Marshal(p)
	var back peak.Peak
	if err := json.Unmarshal(text, &back); err != nil || len(back.EverySite()) != len(p.Sites) {
		t.Errorf("%v, %d lines read back", err, len(back.EverySite()))
	}
}
