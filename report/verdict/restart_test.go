package verdict

import (
	"testing"
	"time"
)

func TestAProgramIsRestartedBeforeTheForecastsTimeOfTheClock(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 12, 10, 30, 0, time.UTC)
	for seconds, want := range map[float64]string{
		2 * 3600:    "restart it before 14:10",
		90:          "restart it before 12:12",
		20:          "restart it now",
		18 * 3600:   "restart it before 06:10",
		50 * 3600:   "restart it before 2026-11-22 14:10",
		31 * 86400:  "",
		0:           "",
		20000 * 3e7: "",
	} {
		if got := (&Forecast{P10: seconds}).RestartBefore(at); got != want {
			t.Errorf("in %v s: %q, want %q", seconds, got, want)
		}
	}
	var none *Forecast
	if got := none.RestartBefore(at); got != "" {
		t.Errorf("without a forecast: %q", got)
	}
	if got := (&Forecast{P10: 60}).RestartBefore(time.Time{}); got != "" {
		t.Errorf("at no time: %q", got)
	}
}
