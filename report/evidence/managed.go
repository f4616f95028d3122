package evidence

import (
	"fmt"
	"math"
	"slices"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/growth"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// findManaged is the finding about managed memory that the program asks the driver for
// and does not give back, where no account has it: NVML counts managed memory for no
// process (H100, driver 580), wherever it lies. Nil where there is none, or where it
// shows in an account.
func findManaged(x *growth.Examined) *finding.Finding {
	asked := x.Judged.Cols[record.ColDriverManagedBytes]
	if asked == nil || x.Judged.Untimed || !x.Judged.AsksItself() {
		return nil
	}
	y := series.FillForward(slices.Clone(asked))
	if y == nil {
		return nil
	}
	g := x.Judged.Examine(y, x.Judged.Question(series.Live, trend.ForReport()))
	if !g.Growing() {
		return nil
	}
	counted := 0.
	for _, k := range [...]series.Key{series.Device, series.Untracked, series.Host} {
		if x.Grow[k].Growing() {
			counted = math.Max(counted, x.Grow[k].Amount())
		}
	}
	if counted >= g.Amount()/2 {
		return nil
	}
	why := fmt.Sprintf("managed memory that the program asked the driver for and has not given back grows by %s "+
		"in %s; the driver counts it for no process", units.Bytes(g.Gained()),
		units.Span(growth.SpanOf(x, &g)))
	return &finding.Finding{By: finding.ByObjects, Of: series.Live, Owner: finding.TheProgram, Score: .95,
		Size: g.Gained(), Why: why}
}
