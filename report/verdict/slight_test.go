package verdict

import (
	"testing"

	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// hostRose is a process whose host memory of 500 MiB likely grew by so much, or by nothing
// where low is below 0, while its heap keeps so much free.
func hostRose(by, low, free float64) *settled {
	p := newProgram(900).healthy().grows(record.ColRSS, 500*mib, 64*kib, by/900)
	s := judgeAll(p.flat(record.ColHostHeapFree, free, 0).run(), Options{}, trend.ForReport())[0]
	g := &s.Grow[series.Host]
	g.Shape, g.Axis, g.From, g.Span, g.Reach, g.End = trend.Growing, trend.ByTime, 0, 45, 2*by, 500*mib
	g.Rate, g.Low, g.High = by/45, low/45, 2*by/45
	s.decision = decision{class: HostGrowth, primary: series.Host, restsOn: ByTrend, size: by, confidence: .9}
	return s
}

func TestAGrowthThatIsLittleOfTheHeapAndMayBeNoneIsOpen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		by, low, free float64
		want          Class
	}{
		"less than the heap keeps free, and unsure": {1.5 * mib, -.6 * mib, 3 * mib, Undecided},
		"it is sure":                          {1.5 * mib, .6 * mib, 3 * mib, HostGrowth},
		"it is more than the heap keeps free": {1.5 * mib, -.6 * mib, mib, HostGrowth},
		"it is much beside what there is":     {50 * mib, -.6 * mib, 100 * mib, HostGrowth},
	} {
		s := hostRose(c.by, c.low, c.free)
		if withoutRate(s); s.class != c.want {
			t.Errorf("%s: %s", name, s.class)
		}
	}
}

func TestAGrowthOfWhichTheTrendIsNotSureStandsWhereALookFoundItsHolderLonger(t *testing.T) {
	t.Parallel()
	for _, holder := range []string{"", "list study.best"} {
		s := hostRose(1.5*mib, -.6*mib, 3*mib)
		s.objects = &finding.Finding{By: ByObjects, Of: series.Host, Owner: finding.TheProgram, Size: 50 * mib,
			Score: .9, Holder: holder}
		want := Undecided
		if holder != "" {
			want = AppLeak
		}
		if withoutRate(s); s.class != want {
			t.Errorf("%q: %s", holder, s.class)
		}
	}
}
