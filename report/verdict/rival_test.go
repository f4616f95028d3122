package verdict

import (
	"math"
	"testing"

	"github.com/gpumem/gpumem/internal/eval/corpus"
	"github.com/gpumem/gpumem/tracer/record"
)

// alarms counts the growths, and the confirmed ones, called on healthy traces of
// a regime that the engine was not tuned on.
func alarms(t *testing.T, regime string, n int) (all, sure int) {
	t.Helper()
	for i := range n {
		v := Judge(corpus.HealthyOne(corpus.Publish+9, regime, i).Run, Options{})
		if v.Verdict == None || v.Verdict == Undecided {
			continue
		}
		if all++; v.Tier == Confirmed {
			sure++
		}
	}
	return all, sure
}

func TestALoadThatArrivesAndLeapsAreNoGrowth(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		regime string
		most   int // of 150; measured on thousands: .1, 0, 0 and 2 %
	}{{"load ramp", 2}, {"two steps", 1}, {"pace", 1}, {"walk", 9}} {
		t.Run(c.regime, func(t *testing.T) {
			t.Parallel()
			if all, sure := alarms(t, c.regime, 150); all > c.most || sure > 1 {
				t.Errorf("%d alarms, %d confirmed, on 150 healthy traces", all, sure)
			}
		})
	}
}

func TestAGrowthThatBeganLateOrComesInStepsOutlivesItsRivals(t *testing.T) {
	t.Parallel()
	late := newProgram(600).healthy()
	late.set(record.ColRSS, func(i int) float64 {
		return 500*mib + 256*kib*float64(max(0, i-240)) +
			64*kib*late.r.NormFloat64()
	})
	stairs := newProgram(600).healthy()
	stairs.set(record.ColRSS, func(i int) float64 { return 500*mib + 8*mib*float64(i/50) + 64*kib*stairs.r.NormFloat64() })
	for name, p := range map[string]*program{"begins at two fifths": late, "twelve equal steps": stairs} {
		if v := p.judge(); v.Verdict != DriverGrowth {
			t.Errorf("%s: %s", name, v.Summary)
		}
	}
}

// TestAGrowthThatSlowsDownALittleHasNotEnded takes what a program held that kept blocks
// of 1 MiB, on an H100: MiB every .34 s, at 39 a second at first and at 25 at the end.
func TestAGrowthThatSlowsDownALittleHasNotEnded(t *testing.T) {
	t.Parallel()
	held := [...]float64{
		66, 80, 94, 105, 118, 131, 145, 159, 170, 184, 197, 211, 225, 237, 249, 262,
		275, 289, 301, 312, 326, 339, 351, 364, 376, 389, 403, 416, 429, 441, 454, 466,
		479, 493, 506, 518, 529, 542, 555, 569, 580, 590, 602, 612, 623, 635, 648, 661,
		675, 688, 698, 710, 723, 734, 746, 754, 762, 773, 783, 792, 798, 802, 809, 823,
	}
	p := newProgram(430).healthy()
	at := func(i int) float64 {
		x := float64(i) / 430 * float64(len(held)-1)
		below := int(x)
		return mib * math.Floor(held[below]+(x-float64(below))*(held[below+1]-held[below]))
	}
	p.set(record.ColLive, at).set(record.ColGPU, func(i int) float64 { return 700*mib + at(i) })
	if v := p.judge(); v.Verdict != AppLeak {
		t.Error(v.Summary)
	}
}
