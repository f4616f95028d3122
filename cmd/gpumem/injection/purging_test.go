package injection

import (
	"testing"
	"time"
)

func TestAPurgeIsDueByTheClockAndByIdleMemoryButNotAtOnceAgain(t *testing.T) {
	t.Parallel()
	both := Purging{every: time.Minute, above: 100}
	for _, c := range []struct {
		p          Purging
		since, hot time.Duration
		idle       int64
		want       string
	}{
		{both, time.Minute, 0, 0, "every 1m0s"},
		{both, time.Second, time.Hour, 101, "idle memory is 101B, above 100B"},
		{both, time.Second, time.Hour, 100, ""},
		{both, time.Second, time.Second, 101, ""}, // the last one gave too little back
		{both, time.Second, time.Hour, -1, ""},    // unknown
		{Purging{above: -1}, time.Hour, time.Hour, 1 << 40, ""},
	} {
		if got := c.p.due(c.since, c.hot, c.idle); got != c.want {
			t.Errorf("%+v, %s, %s, %d: %q, want %q", c.p, c.since, c.hot, c.idle, got, c.want)
		}
	}
}
