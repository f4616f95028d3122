package verdict

import (
	"slices"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

func TestReuseBeforeCompletionIsAFindingAndNeverConfirmedNone(t *testing.T) {
	t.Parallel()
	healthy := newProgram(800).healthy().judge()
	if healthy.Verdict != None || healthy.Tier != Confirmed || strings.Contains(healthy.Answer, "handed out") {
		t.Fatalf("%s %s: %s", healthy.Verdict, healthy.Tier, healthy.Answer)
	}
	run := newProgram(800).healthy().run()
	run.Events = append(run.Events,
		record.Event{TMs: 100, Kind: record.KindEvent, Name: record.EventHazard},
		record.Event{TMs: 200, Kind: record.KindEvent, Name: record.EventHazards + "126012"})
	v := Judge(run, Options{})
	if v.Verdict != None || v.Tier != Likely ||
		!strings.Contains(v.Answer, "126,012 buffers were handed out while the device still used them") ||
		!strings.Contains(v.Next, "when the command that uses it has completed") {
		t.Errorf("%s %s: %s Next: %s", v.Verdict, v.Tier, v.Answer, v.Next)
	}
	if !slices.ContainsFunc(v.Findings, func(f FindingRow) bool { return f.Evidence == ByHazards }) {
		t.Errorf("%+v", v.Findings)
	}
}
