package report

import (
	"math"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/tracer/record"
)

// sawtooth is a run whose live memory rises by 100 MiB and falls again 200 times
// while its floor grows.
func sawtooth(turns int) *record.Run {
	run := leakRun(4000)
	live := run.Samples.Column(record.ColLive)
	for i := range live {
		part := float64(i) / float64(len(live))
		_, in := math.Modf(part * float64(turns))
		live[i] = math.Round(100*mib*in + 50*mib*part)
	}
	return run
}

func TestALineThatSwingsIsDrawnAsABand(t *testing.T) {
	t.Parallel()
	v := leakVerdict()
	v.Window.ToMs = 200_000
	p, _ := newPlot(*leadOf(v, chartsOf(sawtooth(200), v)))
	if p.Lines[0].Swing == "" || len(p.Data.Bands) != 1 || !strings.Contains(p.Note, "swings") {
		t.Fatalf("no band is drawn: %+v", p.Data.Bands)
	}
	b := p.Data.Bands[0]
	for i := range b.X {
		if d := b.High[i] - b.Low[i]; d < 90*mib || d > 110*mib {
			t.Errorf("at %v s the band is %v high", b.X[i], units.Bytes(d))
		}
	}
	if n := strings.Count(p.Lines[0].Path, "L"); n > mostParts {
		t.Errorf("the line in it has %d points", n)
	}
}

func TestALineWithFewTurnsIsDrawnAsItIs(t *testing.T) {
	t.Parallel()
	v := leakVerdict()
	for _, run := range []*record.Run{sawtooth(20), leakRun(1200)} {
		for _, c := range chartsOf(run, v) {
			p, _ := newPlot(c)
			for _, l := range p.Lines {
				if l.ID == string(record.AccountLive) && l.Swing != "" {
					t.Errorf("%s of %s is a band", l.ID, c.title)
				}
			}
		}
	}
}

func TestABandIsNotDrawnOverAGap(t *testing.T) {
	t.Parallel()
	x, v := make([]float64, 4000), make([]float64, 4000)
	for i := range x {
		x[i], v[i] = float64(i), float64(i%10)
		if i > 1000 && i < 3500 {
			v[i] = math.NaN()
		}
	}
	if b := bandOf(x, v, frame{0, 4000, 0, 10, plotHigh}); b != nil {
		t.Error("a band over a time that nobody saw")
	}
}
