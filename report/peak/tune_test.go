package peak_test

import (
	"testing"

	"github.com/gpumem/gpumem/report/peak"
)

// tinyLlama loads and gives up the 201 tensors of TinyLlama as f16, as TensorLogic
// did: bytes and how many.
func tinyLlama() (steps []peak.Step) {
	id := int64(0)
	for _, t := range [...]struct{ bytes, count int64 }{{131_072_000, 2}, {23_068_672, 66}, {8_388_608, 44},
		{1_048_576, 44}, {4096, 45}} {
		for range t.count {
			id++
			steps = append(steps, peak.Step{ID: id, Bytes: t.bytes})
		}
	}
	for i := int64(1); i <= id; i++ {
		steps = append(steps, peak.Step{ID: i})
	}
	return steps
}

// The figures were measured with the program itself.
func TestTensorLogicsCapsKeepWhatWasMeasured(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for most, want := range map[int]struct {
		count int64
		mib   float64
	}{10: {42, 560.04}, 20: {82, 870.08}, 30: {122, 1180.12}, 50: {185, 1746.18}} {
		o := peak.Tune(tinyLlama(), []peak.Policy{peak.CapPolicy(most)})[0]
		got := float64(o.KeptBytes) / mib
		if o.KeptCount != want.count || got < want.mib-.006 || got > want.mib+.006 || o.Misses != 201 {
			t.Errorf("cap %d keeps %d buffers, %.2f MiB, and missed %d; measured %d and %.2f", most, o.KeptCount, got,
				o.Misses, want.count, want.mib)
		}
	}
}

func TestAWindowIsReplayedThroughEachPolicyWithoutLosingABlock(t *testing.T) {
	t.Parallel()
	p, why := peak.OfWindow(window(t))
	if p == nil {
		t.Fatal(why)
	}
	steps := p.Recording()
	live := map[int64]int64{}
	requests := int64(0)
	for _, s := range steps {
		if s.Bytes > 0 {
			live[s.ID] = s.Bytes
			requests++
		} else {
			delete(live, s.ID)
		}
	}
	outcomes := peak.Tune(steps, peak.Policies())
	for _, o := range outcomes {
		if o.PeakBytes < p.Bytes*99/100 || o.Hits+o.Misses != requests || o.KeptBytes < 0 || o.KeptBytes > o.PeakBytes {
			t.Errorf("%+v of %d requests, peak %d", o, requests, p.Bytes)
		}
		t.Logf("%+v", o)
	}
	// The allocator itself had reserved 1,484,783,616 bytes; how the blocks before the
	// window came to lie is not known.
	if d := outcomes[0].PeakBytes - 1_484_783_616; d < -150<<20 || d > 150<<20 {
		t.Errorf("PyTorch's default, simulated, reserves %d", outcomes[0].PeakBytes)
	}
	if best, ok := peak.Recommend(outcomes); ok && best.PeakBytes >= outcomes[0].PeakBytes {
		t.Errorf("recommends %+v", best)
	}
}

// Pieces between living blocks serve no larger request, whole pages behind them do.
func TestExpandableSegmentsGrowWherePyTorchsDefaultTakesANewSegment(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	var steps []peak.Step
	for i := int64(0); i < 10; i++ {
		steps = append(steps, peak.Step{ID: i, Bytes: 20 * mib})
	}
	for i := int64(0); i < 10; i++ {
		steps = append(steps, peak.Step{ID: i})
	}
	steps = append(steps, peak.Step{ID: 99, Bytes: 200 * mib})
	got := peak.Tune(steps, peak.Policies()[:2])
	if got[0].PeakBytes != 400*mib || got[1].PeakBytes != 200*mib || got[1].SavedBytes != 200*mib {
		t.Errorf("%+v", got)
	}
	if best, ok := peak.Recommend(got); !ok || best.Policy != got[1].Policy {
		t.Errorf("recommends %+v", best)
	}
}
