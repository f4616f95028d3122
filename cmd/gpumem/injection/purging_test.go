package injection

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/gpumem/gpumem/tracer/record"
)

func TestAPurgeIsDueByTheClockAndByIdleMemoryButNotAtOnceAgain(t *testing.T) {
	t.Parallel()
	both := Purging{every: time.Minute, above: 100}
	for _, c := range []struct {
		p           Purging
		since, rest time.Duration
		idle        int64
		want        string
	}{
		{both, time.Minute, time.Hour, 0, "every 1m0s"},
		{both, time.Second, -time.Hour, 8<<20 + 128<<10, "idle memory is 8.12 MiB, above 100 B"},
		{both, time.Second, 0, 100, ""},
		{both, time.Second, time.Second, 101, ""}, // the last one was a moment ago
		{both, time.Second, 0, -1, ""},            // unknown
		{Purging{above: -1}, time.Hour, 0, 1 << 40, ""},
	} {
		if got := c.p.due(c.since, c.rest, c.idle); got != c.want {
			t.Errorf("%+v, %s, %s, %d: %q, want %q", c.p, c.since, c.rest, c.idle, got, c.want)
		}
	}
}

func TestAPurgeThatHelpedMayComeAgainSoon(t *testing.T) {
	t.Parallel()
	p, freed := Purging{above: 100}, int64(950)
	for _, c := range []struct {
		idle    int64
		receipt *record.Receipt
		want    time.Duration
	}{
		{1000, &record.Receipt{ClaimedBytes: &freed}, leastPurge},
		{2000, &record.Receipt{ClaimedBytes: &freed}, againPurge}, // 1,050 stay idle
		{1000, &record.Receipt{}, againPurge},                     // it does not say
		{1000, nil, againPurge},
	} {
		if got := p.pause(c.idle, c.receipt); got != c.want {
			t.Errorf("%d idle, %+v: a pause of %s, want %s", c.idle, c.receipt, got, c.want)
		}
	}
}

func TestAnAgentThatComesLateIsNoReasonForAWarning(t *testing.T) {
	t.Parallel()
	for name, comes := range map[string]bool{"late": true, "never": false} {
		var kinds []string
		here := false
		w := purgeWatch{Purging: Purging{every: 1, above: -1}, idle: func() int64 { return -1 },
			offered: func() bool { return here },
			purge:   func() (*record.Receipt, error) { return &record.Receipt{}, nil },
			emit:    func(e record.Event) { kinds = append(kinds, e.Kind+" "+e.Name) }}
		ctx, cancel := context.WithCancel(context.Background())
		w.look(ctx)
		here = comes
		w.look(ctx)
		cancel()
		w.run(ctx)
		want := []string{record.KindWarning + " "}
		if comes {
			want = []string{record.KindEvent + " purge"}
		}
		if !slices.Equal(kinds, want) {
			t.Errorf("%s: %q, want %q", name, kinds, want)
		}
	}
}
