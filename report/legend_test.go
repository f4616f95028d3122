package report

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/tracer/record"
)

func TestALegendHasTheValuesAtTheEndOfWhatWasJudged(t *testing.T) {
	t.Parallel()
	run, v := leakRun(1200), leakVerdict()
	v.Window.ToMs = 55_000
	live := run.Samples.Column(record.ColLive)
	for i, ms := range run.Samples.Column(record.ColTime) {
		if ms > 55_000 {
			live[i] = mib // the program has ended its work and lets go
		}
	}
	lead := leadOf(v, chartsOf(run, v))
	p, ok := newPlot(*lead)
	if want := units.Bytes(85*mib + 4*mib*110); !ok || p.Lines[0].Last != want {
		t.Errorf("the legend has %q, want %q", p.Lines[0].Last, want)
	}
	if !strings.Contains(p.Desc, "from 85.0 MiB to 525 MiB") {
		t.Errorf("the picture is described as %q", p.Desc)
	}
	if !strings.Contains(p.Note, "Values are those at 55.0 s") {
		t.Errorf("the note is %q", p.Note)
	}
}

func TestALegendKeepsUnknownWhereNothingWasKnownInWhatWasJudged(t *testing.T) {
	t.Parallel()
	nan := record.Unknown()
	c := chart{axis: axis{"s", []float64{0, 1, 2}}, to: 1, bytes: true}
	if got := valueText(c.lastOf(line{v: []float64{nan, nan, 7}}), true); got != units.Unknown {
		t.Errorf("%q, want %q", got, units.Unknown)
	}
	if got := c.lastOf(line{v: []float64{3, nan, 7}}); got != 3 {
		t.Errorf("%v, want the last that is known", got)
	}
}
