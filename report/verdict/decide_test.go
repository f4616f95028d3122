package verdict

import (
	"testing"

	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/growth"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// bareProcess is a process of which nothing was recorded.
func bareProcess() *growth.Examined {
	x := &growth.Examined{}
	x.Run, x.Events = &record.Run{}, series.Indexed(nil)
	for k := range x.Grow {
		x.Grow[k].Shape = trend.ShapeUndecided
	}
	return x
}

func TestFindingsAreWeighedInOneOrder(t *testing.T) {
	t.Parallel()
	still := finding.Finding{Of: series.Keys, Owner: finding.Nobody, Score: .9}
	open := finding.Finding{Of: series.Keys, Why: "open"}
	grows := finding.Finding{By: ByTrend, Of: series.Untracked, Owner: finding.TheDriver, Score: 2,
		Size: 10 * mib}
	sure := finding.Finding{By: ByTrend, Of: series.Untracked, Owner: finding.TheDriver, Score: 50,
		Size: 10 * mib}
	refill := &finding.Finding{By: ByRefill, Of: series.Idle, Owner: finding.ThePool, Score: .9, Size: mib}
	left := &finding.Finding{By: ByLeftover, Of: series.Live, Owner: finding.TheProgram, Score: .97,
		Size: 8 * mib}
	large := &finding.Finding{By: ByMagnitude, Of: series.Host, Owner: finding.TheHost, Score: .7,
		Size: 100 * mib}
	for name, c := range map[string]struct {
		f     findings
		class Class
		by    Evidence
	}{
		"nothing grows":                               {findings{trend: still}, None, ""},
		"a trend":                                     {findings{trend: grows}, DriverGrowth, ByTrend},
		"a program that only starts":                  {findings{trend: grows, starting: &open}, Undecided, ""},
		"a pool that fills, beside a trend":           {findings{trend: grows, refill: refill}, DriverGrowth, ByTrend},
		"a pool that fills alone":                     {findings{trend: still, refill: refill}, PoolGrowth, ByRefill},
		"what was left over, beside a doubtful trend": {findings{trend: grows, leftover: left}, AppLeak, ByLeftover},
		"the same beside a sure one":                  {findings{trend: sure, leftover: left}, DriverGrowth, ByTrend},
		"all came back where nothing surely grows":    {findings{trend: open, gaveBack: left}, AppLeak, ByLeftover},
		"all came back of a growth that is no work":   {findings{trend: grows, gaveBack: left}, DriverGrowth, ByTrend},
		"a large growth of a short run":               {findings{trend: open, magnitude: large}, HostGrowth, ByMagnitude},
		"what a short run left over": {findings{trend: open, magnitude: large, leftover: left},
			AppLeak, ByLeftover},
		"device memory of unknown owner": {findings{trend: finding.Finding{Of: series.Device, Size: mib}},
			Undecided, ""},
		"the same, while a pool that nobody sees fills": {findings{trend: finding.Finding{Of: series.Device,
			Size: mib},
			refill: refill}, Undecided, ""},
	} {
		if s := decide(bareProcess(), c.f); s.class != c.class || s.restsOn != c.by {
			t.Errorf("%s: %s by %q, want %s by %q", name, s.class, s.restsOn, c.class, c.by)
		}
	}
}

func TestExperimentsBoundTheConfidenceInTheirOrder(t *testing.T) {
	t.Parallel()
	back, claimed := int64(9*mib), int64(9*mib)
	none := int64(0)
	proof := record.Event{Receipt: &record.Receipt{Action: record.ActionPurge, ReturnedBytes: &back}}
	inVain := record.Event{Receipt: &record.Receipt{Action: record.ActionPurge, ClaimedBytes: &claimed,
		ReturnedBytes: &none}}
	grows := finding.Finding{By: ByTrend, Of: series.Idle, Owner: finding.ThePool, Score: 50, Size: 10 * mib}
	for name, c := range map[string]struct {
		events []record.Event
		want   func(p float64) bool
	}{
		"a purge that returned the growth":  {[]record.Event{proof}, func(p float64) bool { return p >= proves }},
		"a purge in vain":                   {[]record.Event{inVain}, func(p float64) bool { return p == doubts }},
		"a proof, and then a purge in vain": {[]record.Event{proof, inVain}, func(p float64) bool { return p == doubts }},
		"a purge in vain, and then a proof": {[]record.Event{inVain, proof}, func(p float64) bool { return p == proves }},
	} {
		x := bareProcess()
		x.Run.Events, x.Events = c.events, series.Indexed(c.events)
		if s := decide(x, findings{trend: grows}); !c.want(s.confidence) {
			t.Errorf("%s: confidence %v", name, s.confidence)
		}
	}
}
