package verdict

import (
	"testing"

	"github.com/gpumem/gpumem/report/evidence"
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
		f     evidence.Findings
		class Class
		by    Evidence
	}{
		"nothing grows": {evidence.Findings{Trend: still}, None, ""},
		"a trend": {evidence.Findings{Trend: grows}, DriverGrowth,
			ByTrend},
		"a program that only starts": {evidence.Findings{Trend: grows, Starting: &open},
			Undecided, ""},
		"a pool that fills, beside a trend": {evidence.Findings{Trend: grows, Refill: refill},
			DriverGrowth, ByTrend},
		"a pool that fills alone": {evidence.Findings{Trend: still, Refill: refill},
			PoolGrowth, ByRefill},
		"what was left over, beside a doubtful trend": {evidence.Findings{Trend: grows, Leftover: left},
			AppLeak, ByLeftover},
		"the same beside a sure one": {evidence.Findings{Trend: sure, Leftover: left},
			DriverGrowth, ByTrend},
		"all came back where nothing surely grows": {evidence.Findings{Trend: open, GaveBack: left},
			AppLeak, ByLeftover},
		"all came back of a growth that is no work": {evidence.Findings{Trend: grows, GaveBack: left},
			DriverGrowth, ByTrend},
		"a large growth of a short run": {evidence.Findings{Trend: open, Magnitude: large},
			HostGrowth, ByMagnitude},
		"what a short run left over": {evidence.Findings{Trend: open, Magnitude: large, Leftover: left},
			AppLeak, ByLeftover},
		"device memory of unknown owner": {evidence.Findings{Trend: finding.Finding{Of: series.Device,
			Size: mib}},
			Undecided, ""},
		"the same, while a pool that nobody sees fills": {evidence.Findings{Trend: finding.Finding{Of: series.Device,
			Size: mib},
			Refill: refill}, Undecided, ""},
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
		if s := decide(x, evidence.Findings{Trend: grows}); !c.want(s.confidence) {
			t.Errorf("%s: confidence %v", name, s.confidence)
		}
	}
}
