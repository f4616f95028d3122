package verdict

import (
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// exchanging is a program with an image pool of fifty: which storages it keeps alive
// changes, so that what is live wanders.
func exchanging(length func(second float64) int64, held, perRow float64) *program {
	p, level := newProgram(700).healthy(), 0.
	live := make([]float64, 700)
	for i := range live {
		level = min(.995*level+1.7*mib*p.r.NormFloat64(), 12*mib) // all of them alive
		live[i] = 200*mib + level + perRow*float64(i)
	}
	p.flat(record.ColLiveCount, 60, 1).set(record.ColLive, func(i int) float64 { return live[i] })
	p.set(record.ColGPU, func(i int) float64 { return 700*mib + live[i] })
	for _, at := range []float64{6, 9, 34.9} {
		h := record.Holder{Path: "list train.pool.images", Length: length(at), Count: 55,
			Bytes: int64(held * live[int(at*20)]), OverMs: 3000}
		if at > 30 {
			h.OverMs = 0 // the end tells all of it
		}
		p.events = append(p.events, record.Event{TMs: at * 1000, Kind: record.KindHolders, Holders: []record.Holder{h}})
	}
	return p
}

func TestAContainerThatGetsNoLongerAndHoldsAllThatIsLiveSettlesIt(t *testing.T) {
	t.Parallel()
	fifty := func(float64) int64 { return 50 }
	if v := exchanging(fifty, 1, 0).without(); v.Verdict != Undecided {
		t.Fatalf("the trend is not open: %s", v.Summary)
	}
	if v := exchanging(fifty, 1, 0).judge(); v.Verdict != None {
		t.Errorf("%s", v.Summary)
	}
	if v := exchanging(fifty, .6, 0).judge(); v.Verdict != Undecided {
		t.Errorf("one that holds little more than half: %s", v.Summary)
	}
	if v := exchanging(fifty, 1, 40*kib).judge(); v.Verdict == None {
		t.Errorf("one whose elements get larger: %s", v.Summary)
	}
	longer := func(second float64) int64 { return int64(10 * second) }
	if v := exchanging(longer, 1, 0).judge(); v.Verdict != Undecided {
		t.Errorf("one that gets longer: %s", v.Summary)
	}
}
