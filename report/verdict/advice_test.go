package verdict

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// threeLines are those of the N-Queens investigation, as a run (TL-08).
func threeLines(meta record.Meta) *record.Run {
	return &record.Run{Meta: meta, Samples: record.NewSamples(
		[]string{record.ColStep, record.ColRSS, record.ColLive, record.ColLiveCount},
		[][]float64{{1, 2, 3}, {319 * mib, 5812 * mib, 7600 * mib}, {55104, 98776, 106472}, {70, 312, 356}})}
}

func TestTheThreeLinesOfNQueensAreHostGrowthAndAnAutoreleasePoolIsTriedFirst(t *testing.T) {
	t.Parallel()
	v := Judge(threeLines(record.Meta{}), Options{})
	if v.Verdict != HostGrowth || !strings.Contains(v.Summary, "unresolved") {
		t.Errorf("%s: %s", v.Verdict, v.Summary)
	}
	at := -1
	for _, want := range []string{"put an autorelease pool around each iteration", "use the CPU device",
		"restart long sessions"} {
		next := strings.Index(v.Next, want)
		if next <= at {
			t.Errorf("%q is missing or too early in %q", want, v.Next)
		}
		at = next
	}
	if v := Judge(threeLines(record.Meta{OS: "linux/amd64", Driver: "nvidia 580"}), Options{}); strings.Contains(v.Next,
		"autorelease") {
		t.Errorf("on a device that has no autorelease pools: %s", v.Next)
	}
}

func TestSessionsAreRestartedBeforeTheForecastsTime(t *testing.T) {
	t.Parallel()
	p := newProgram(800).grows(record.ColLive, 64*mib, 0, 64*kib)
	p.set(record.ColRSS, func(i int) float64 { return 500*mib + float64(i)*512*kib })
	run := p.run()
	run.Meta.OS, run.Meta.Driver = "darwin/arm64", "apple"
	run.Meta.CapacityBytes = map[string]int64{record.LimitHost: 64 << 30}
	v := Judge(run, Options{})
	if v.Verdict != HostGrowth || v.Forecast == nil || !strings.Contains(v.Next, "restart long sessions every ") ||
		!strings.Contains(v.Next, lasting(v.Forecast.P10)+" at the earliest") {
		t.Errorf("%s, forecast %+v: %s", v.Verdict, v.Forecast, v.Next)
	}
}

func TestATimeIsSaidInItsLargestUnit(t *testing.T) {
	t.Parallel()
	for seconds, want := range map[float64]string{1: "1 minute", 61: "1 minute", 150: "2 minutes",
		3700: "1 hour", 86400 * 3: "3 days"} {
		if got := lasting(seconds); got != want {
			t.Errorf("%v s: %s", seconds, got)
		}
	}
}
