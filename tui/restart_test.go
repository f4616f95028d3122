package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

func TestTheForecastOfARunningProgramHasATimeOfTheClock(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 20, 12, 0, 0, 0, time.Local)
	v := &verdict.Verdict{Forecast: &verdict.Forecast{Limit: "host memory", CapacityBytes: 1 << 30, P10: 7200,
		P50: 7300,
		P90: 7400}}
	for state, want := range map[State]string{
		Recording: "restart it before 14:20", Watching: "restart it before 14:20", Ended: "", Playing: "", Silent: "",
	} {
		p := verdictPanel{frame: &Frame{State: state, Meta: record.Meta{Start: began},
			Judged: Judged{Verdict: v, AtMs: 20 * 60 * 1000}}}
		if got := p.restart(); got != want {
			t.Errorf("%s: %q, want %q", state, got, want)
		}
	}
	if text := forecastText(v.Forecast, "restart it before 14:20"); !strings.HasSuffix(text,
		"); restart it before 14:20") {
		t.Errorf("forecast %q", text)
	}
}
