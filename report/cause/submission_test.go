package cause

import (
	"testing"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/tracer/record"
)

// A program whose samples are too few for a trend leaves a backlog where most of its command buffers
// are in flight when everything was released: not where it waits for them, nor at a short run's end.
func TestABacklogIsSeenInWhatIsLeft(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		inFlight, ever float64
		want           bool
	}{
		"most": {939, 1050, true},
		"few":  {100, 1050, false},
		"deep": {60, 70, false},
	} {
		c := &Case{Class: account.AppLeak, Confidence: .97, ByLeftover: true}
		c.InFlight.Left = x.inFlight
		c.Whole.Columns = map[string][]float64{record.ColCommandBuffers: {0, x.ever}}
		got := Of(c)
		if named := len(got) == 1 && got[0].ID == Backlog; named != x.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
