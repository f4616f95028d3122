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
	base := newProgram(600).healthy().grows(record.ColLive, 60*mib, 64*kib, 16*kib).grows(record.ColGPU,
		700*mib, 0, 16*kib)
	// New runs at half the speed: by time it would grow less than the base.
	slow := newProgram(1200).healthy().grows(record.ColLive, 60*mib, 64*kib, 14*kib).grows(record.ColGPU,
		700*mib, 0, 14*kib)
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

func TestDiffNamesTheOwnerOfHostMemoryThatTheNewRunNames(t *testing.T) {
	t.Parallel()
	touched := func(library string) *program {
		p := newProgram(600).grows(record.ColRSS, 500*mib, 64*kib, 512*kib).flat(record.ColHostHeap, 90*mib, 0)
		p.events = append(p.events, record.Event{Kind: record.KindFirstTouch, FirstTouch: &record.FirstTouch{
			Seconds: 10, Judgement: "growth", Owners: []record.TouchOwner{{Library: library, Share: .9}},
		}})
		return p
	}
	base := newProgram(600).flat(record.ColRSS, 500*mib, 64*kib).flat(record.ColHostHeap, 90*mib, 0)
	for library, want := range map[string]Class{"python3.11": HostGrowth, "libcuda.so.1": DriverGrowth} {
		d := Diff(base.run(), touched(library).run(), Options{})
		if d.New.Verdict != want || d.Verdict != want {
			t.Errorf("%s: the new run is %s, the difference %s: %s", library, d.New.Verdict, d.Verdict, d.Summary)
		}
	}
}

func TestDiffOfATreeThatLeavesItsWorkersIsAGrowth(t *testing.T) {
	t.Parallel()
	var left, pass [][2]float64
	for i := range 7 {
		from := 2 + 6*float64(i)
		left = append(left, [2]float64{from, 45})
		pass = append(pass, [2]float64{from, from + 5.5})
	}
	healthy, leaking := tree(128*mib, pass...), tree(128*mib, left...)
	if d := Diff(healthy, leaking, Options{}); d.Verdict != AppLeak {
		t.Errorf("%s", d.Summary)
	}
	if d := Diff(leaking, leaking, Options{}); d.Verdict != None {
		t.Errorf("the same on both sides: %s", d.Summary)
	}
	if d := Diff(healthy, healthy, Options{}); d.Verdict != None {
		t.Errorf("healthy on both sides: %s", d.Summary)
	}
}

func TestDiffOfTooLittleIsTheNewRunsOwnVerdict(t *testing.T) {
	t.Parallel()
	leak := newProgram(600).healthy().grows(record.ColLive, 60*mib, 0, 16*kib).grows(record.ColGPU, 700*mib, 0, 16*kib)
	brief := newProgram(40).healthy()
	d := Diff(brief.run(), leak.run(), Options{})
	if d.Base.Verdict != None || d.Verdict != AppLeak {
		t.Errorf("base is %s: %s", d.Base.Verdict, d.Summary)
	}
}
