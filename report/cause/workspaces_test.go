package cause

import (
	"slices"
	"testing"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/tracer/record"
)

const cublas = "libcublas.so.13+0x5b45ee (build id 3f947abf), called by /a/serve.py:9 answer"

func TestLibrariesThatAskAgainAndAgainHaveWorkspaces(t *testing.T) {
	t.Parallel()
	site := func(name string, bytes, growth, count int64) record.Site {
		return record.Site{Site: name, Bytes: bytes * mib, GrowthBytes: growth * mib, Count: count}
	}
	for name, c := range map[string]struct {
		class account.Class
		site  record.Site
		named bool
	}{
		"of many handles":      {account.DriverGrowth, site(cublas, 96, 90, 12), true},
		"of a native program":  {account.AppLeak, site("libcufft.so.12+0x1f2 cufftPlan1d", 96, 96, 40), true},
		"of one handle":        {account.DriverGrowth, site(cublas, 96, 96, 3), false},
		"no longer there":      {account.DriverGrowth, site(record.GoneSite(cublas), 96, 96, 12), false},
		"a small part":         {account.DriverGrowth, site(cublas, 96, 20, 12), false},
		"there from the start": {account.DriverGrowth, site(cublas, 96, 0, 12), false},
		"the program's own":    {account.AppLeak, site("/a/libcublas.py:3 ask", 96, 96, 12), false},
		"nothing grows":        {account.None, site(cublas, 96, 96, 12), false},
	} {
		grows := &Case{Class: c.class, Confidence: 1, ByTrend: true, Size: 100 * mib,
			Sites: []record.Site{c.site}}
		grows.Grows = &grows.Untracked
		if got := idsOf(Of(grows)); slices.Contains(got, Workspaces) != c.named {
			t.Errorf("%s: causes %v", name, got)
		}
	}
}

func TestWhatOnePlaceAsksTheDriverForAndKeepsIsNamedWhereNothingElseIs(t *testing.T) {
	t.Parallel()
	const line = "/a/gates.py:52 resize"
	for name, c := range map[string]struct {
		site  record.Site
		named bool
	}{
		"again and again":      {record.Site{Site: line, Bytes: 96 * mib, GrowthBytes: 90 * mib, Count: 60}, true},
		"a few times":          {record.Site{Site: line, Bytes: 96 * mib, GrowthBytes: 90 * mib, Count: 3}, false},
		"there from the start": {record.Site{Site: line, Bytes: 96 * mib, Count: 60}, false},
		"a small part":         {record.Site{Site: line, Bytes: 96 * mib, GrowthBytes: 20 * mib, Count: 60}, false},
		"no longer there": {record.Site{Site: record.GoneSite(line), Bytes: 96 * mib, GrowthBytes: 90 * mib,
			Count: 60}, false},
		"by a library": {record.Site{Site: cublas, Bytes: 96 * mib, GrowthBytes: 90 * mib, Count: 60}, false},
	} {
		grows := &Case{Class: account.DriverGrowth, Confidence: 1, ByTrend: true, Size: 100 * mib,
			Sites: []record.Site{c.site}}
		grows.Grows = &grows.Untracked
		if got := idsOf(Of(grows)); slices.Contains(got, Asked) != c.named {
			t.Errorf("%s: causes %v", name, got)
		}
	}
}

func TestWhatIsAskedOfTheDriverTakesWholePagesOfTheDevice(t *testing.T) {
	t.Parallel()
	for asked, named := range map[float64]bool{60: true, 40: false} {
		c := &Case{Class: account.DriverGrowth, Confidence: 1, ByTrend: true, Size: 100 * mib,
			Sites: []record.Site{{Site: "/a/gates.py:52 resize", GrowthBytes: 38 * mib, Count: 60}}}
		c.Grows = &c.Untracked
		c.Judged.Columns = map[string][]float64{record.ColDriverAllocBytes: {0, (asked + 5) * mib},
			record.ColLive: {mib, 6 * mib}, record.ColIdle: {0, 0}}
		if got := idsOf(Of(c)); slices.Contains(got, Asked) != named {
			t.Errorf("%.0f MiB asked for: causes %v", asked, got)
		}
	}
}

// While a program runs on nobody tells what its pools have.
func TestPoolsOfGraphsAreNamedBeforeTheyAreTold(t *testing.T) {
	t.Parallel()
	for _, graphs := range []float64{2, 20} {
		c := &Case{Class: account.PoolGrowth, Confidence: 1, ByTrend: true, Size: 100 * mib}
		c.Judged.Columns = map[string][]float64{record.ColGraphs: {1, 1 + graphs}}
		c.Grows = &c.Idle
		if got := idsOf(Of(c)); slices.Contains(got, GraphPools) != (graphs == 20) {
			t.Errorf("%.0f graphs: %v", graphs, got)
		}
	}
}

func TestGraphsThatAreCapturedAgainAndAgainKeepTheirPools(t *testing.T) {
	t.Parallel()
	of := func(graphs, private int64) *Case {
		c := &Case{Class: account.AppLeak, Confidence: 1, ByTrend: true, Size: 100 * mib,
			Pools: []record.Pool{{Stream: 1, Idle: 400 * mib},
				{Stream: 2, Private: true, Live: private * mib}}}
		c.Judged.Columns = map[string][]float64{record.ColGraphs: {1, 1 + float64(graphs)/2, 1 + float64(graphs)}}
		c.Grows = &c.Live
		return c
	}
	for name, c := range map[string]struct {
		graphs, private int64
		named           bool
	}{
		"each has a pool":   {20, 90, true},
		"one graph":         {0, 90, false},
		"a few at start":    {2, 90, false},
		"pools of a little": {20, 10, false},
	} {
		if got := idsOf(Of(of(c.graphs, c.private))); slices.Contains(got, GraphPools) != c.named {
			t.Errorf("%s: causes %v", name, got)
		}
	}
	healthy := of(20, 90)
	healthy.Class = account.None
	if got := idsOf(Of(healthy)); len(got) > 0 {
		t.Errorf("nothing grows: %v", got)
	}
}
