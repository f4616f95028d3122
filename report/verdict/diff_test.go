package verdict

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/gpumem/gpumem/internal/eval/corpus"
	"github.com/gpumem/gpumem/tracer/record"
)

func TestDiffFindsGrowthBeyondTheBaseAlignedByStep(t *testing.T) {
	t.Parallel()
	base := newProgram(600).healthy().grows(record.ColLive, 60*mib, 64*kib, 16*kib).grows(record.ColGPU, 700*mib, 0, 16*kib)
	// New runs at half the speed: by time it would grow less than the base.
	slow := newProgram(1200).healthy().grows(record.ColLive, 60*mib, 64*kib, 14*kib).grows(record.ColGPU, 700*mib, 0, 14*kib)
	slow.set(record.ColStep, func(i int) float64 { return float64(i) * 1.5 })
	d := Diff(base.run(), slow.run(), Options{})
	if d.AlignedBy != "step" || d.Verdict != AppLeak {
		t.Fatalf("aligned by %s: %s: %s", d.AlignedBy, d.Verdict, d.Summary)
	}
	for _, r := range d.Rows {
		if r.Account == Live {
			const truth = (28 - 16) * kib / 3. // by step
			if r.Noise || r.PerUnit.Low > truth || r.PerUnit.High < truth {
				t.Errorf("live %+v, truth %.0f a step", r.PerUnit, truth)
			}
		} else if !r.Noise {
			t.Errorf("%s is not noise: %+v", r.Account, r)
		}
	}
}

func TestDiffOfARunWithItselfIsNoise(t *testing.T) {
	t.Parallel()
	p := newProgram(600).healthy().grows(record.ColLive, 60*mib, 64*kib, 16*kib)
	d := Diff(p.run(), p.run(), Options{})
	if d.Verdict != None {
		t.Errorf("%s: %s", d.Verdict, d.Summary)
	}
	for _, r := range d.Rows {
		if !r.Noise {
			t.Errorf("%s is not noise", r.Account)
		}
	}
}

func TestDiffCountsLeftoversBeyondTheBase(t *testing.T) {
	t.Parallel()
	d := Diff(loading(0, 40*mib).run(), loading(0, 300*mib).run(), Options{})
	if d.Verdict != PoolGrowth {
		t.Errorf("%s: %s", d.Verdict, d.Summary)
	}
	if d := Diff(nil, loading(0, 0).run(), Options{}); d.Verdict != Undecided {
		t.Errorf("without a base: %s", d.Verdict)
	}
}

func TestHandlesThatARunKeepsMoreOfThanBeforeAreCompared(t *testing.T) {
	t.Parallel()
	all := slices.DeleteFunc(corpus.Adversarial(corpus.Publish), func(c *corpus.Trace) bool {
		return c.Run.Samples.Column(record.ColModules) == nil
	})
	if len(all) < 2 {
		t.Fatal("no trace counts modules")
	}
	grew := 0
	for i := 0; i+1 < min(len(all), 60); i++ {
		d := Diff(all[i].Run, all[i+1].Run, Options{})
		if d.Verdict == DriverGrowth {
			grew++
		}
		if _, err := json.Marshal(d); err != nil {
			t.Errorf("%s against %s: %v", all[i].Kind, all[i+1].Kind, err)
		}
	}
	if grew == 0 {
		t.Error("no pair has more handles in the new run than in the base")
	}
}
