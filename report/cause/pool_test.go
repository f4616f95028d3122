package cause

import (
	"slices"
	"testing"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/tracer/record"
)

// TestNewShapesFillNoCacheWhereNothingIsCompiled: prompts of ever new lengths are
// no reason for what grows when the program has told that it compiles nothing.
func TestNewShapesFillNoCacheWhereNothingIsCompiled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pipelines []float64
		named     bool
	}{
		"nobody tells pipelines": {nil, true},
		"one for each shape":     {[]float64{20, 500}, true},
		"none":                   {[]float64{20, 20}, false},
	} {
		grows := &Case{Class: account.DriverGrowth, Confidence: 1, ByTrend: true, Size: 100 * mib}
		grows.Judged.Columns = map[string][]float64{
			record.ColShapes: {10, 490}, record.ColPipelines: c.pipelines,
		}
		if got := idsOf(Of(grows)); slices.Contains(got, Compile) != c.named {
			t.Errorf("%s: causes %v", name, got)
		}
	}
}
