package verdict

import (
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
	late.set(record.ColRSS, func(i int) float64 { return 500*mib + 256*kib*float64(max(0, i-240)) + 64*kib*late.r.NormFloat64() })
	stairs := newProgram(600).healthy()
	stairs.set(record.ColRSS, func(i int) float64 { return 500*mib + 8*mib*float64(i/50) + 64*kib*stairs.r.NormFloat64() })
	for name, p := range map[string]*program{"begins at two fifths": late, "twelve equal steps": stairs} {
		if v := p.judge(); v.Verdict != DriverGrowth {
			t.Errorf("%s: %s", name, v.Summary)
		}
	}
}
