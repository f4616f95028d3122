package verdict

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/peak"
	"github.com/gpumem/gpumem/tracer/record"
)

// standing is a program whose memory stood still, and that ended with an error of JAX's pool
// of 64 MiB, of which so much was arrays that Python held.
func standing(t *testing.T, arrays int64) *record.Run {
	t.Helper()
	p, one := newProgram(1200).healthy(), 1
	p.meta.ExitCode = &one
	died, err := json.Marshal(record.Died{Live: 60 * mib, Limit: 64 * mib,
		Text: "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8.00MiB"})
	if err != nil {
		t.Fatal(err)
	}
	made, err := json.Marshal(record.Composition{Categories: map[string]int64{"other arrays of Python": arrays}})
	if err != nil {
		t.Fatal(err)
	}
	p.events = append(p.events,
		record.Event{TMs: 59_900, PID: 7, Kind: record.KindComposition, Name: "jax", Detail: made},
		record.Event{TMs: 59_900, PID: 7, Kind: record.KindDied, Name: "jax.errors.JaxRuntimeError", Detail: died})
	return p.run()
}

// As on an H100, where JAX's allocator waited for 10 s for memory before it gave up.
func TestAProgramThatStoodStillBecauseItWasFullMayHaveGrown(t *testing.T) {
	t.Parallel()
	v := Judge(standing(t, 60*mib), Options{})
	if v.OOM == nil || v.OOM.Reason != peak.Held || v.Verdict != Undecided || v.Tier != TierUndecided ||
		v.Confidence != 0 || !strings.Contains(v.Summary, fullWords) || v.MoreMinutes != nil {
		t.Errorf("%s, %s, %v: %s; %+v", v.Verdict, v.Tier, v.Confidence, v.Summary, v.OOM)
	}
	v = Judge(standing(t, mib), Options{}) // full of something else
	if v.OOM == nil || v.OOM.Reason != peak.Full || v.Verdict != None {
		t.Errorf("%s: %s; %+v", v.Verdict, v.Summary, v.OOM)
	}
}
