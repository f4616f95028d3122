package verdict_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/internal/eval/corpus"
	"github.com/gpumem/gpumem/report"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// answer is what a redacted copy must keep of a verdict.
func answer(v *verdict.Verdict) string {
	var causes []string
	for _, c := range v.Causes {
		causes = append(causes, fmt.Sprintf("%s %.4f", c.ID, c.Confidence))
	}
	return fmt.Sprintf("%s %s %.4f by %s: %s", v.Verdict, v.Tier, v.Confidence, v.RestsOn, strings.Join(causes, ", "))
}

// withEvents is a run with what programs and tracers tell besides samples.
func withEvents(run *record.Run) *record.Run {
	t := run.Samples.Column(record.ColTime)
	if len(t) == 0 {
		return run
	}
	at := func(part float64) float64 { return t[int(part*float64(len(t)-1))] }
	claimed, returned := int64(64<<20), int64(8<<20)
	out := *run
	out.Meta.Driver, out.Meta.OS = "nvidia 580.159.04", "linux/amd64 6.1.0"
	out.Events = []record.Event{
		{TMs: at(0), Kind: record.KindProcess, Name: "alice-train"},
		{TMs: at(0), Kind: record.KindPhase, Name: "Loading Alice's weights"},
		{TMs: at(.1), Kind: record.KindPhase, Name: record.PhaseBaseline},
		{TMs: at(.5), Kind: record.KindPhase, Name: "alice-epoch-2"},
		{TMs: at(.9), Kind: record.KindPhase, Name: record.PhaseReleased},
		{TMs: at(.92), Kind: record.KindPhase, Name: record.PhaseExiting},
		{TMs: at(.95), Kind: record.KindReceipt, Receipt: &record.Receipt{
			Action: record.ActionPurge, Account: record.AccountIdle, ClaimedBytes: &claimed, ReturnedBytes: &returned}},
		{TMs: at(.96), Kind: record.KindReceipt, Receipt: &record.Receipt{
			Action: record.ActionCollect, Account: record.AccountLive, ClaimedBytes: &claimed, ReturnedBytes: &claimed}},
		{TMs: at(.97), Kind: record.KindHolders, Holders: []record.Holder{
			{Path: "alice.Trainer.total", Graph: "Add outputs", Bytes: 9 << 30, Count: 1},
			{Path: "list alice.history", Gone: true, Bytes: 1 << 20, Count: 3}}},
		{TMs: at(.98), Kind: record.KindSites, Sites: []record.Site{{Site: "alice.py:4 step", Bytes: 4096, Count: 3}}},
	}
	return &out
}

// runsToRedact are runs by name: those with a planted fault, a part of the
// corpus, with events and without, and the recordings of testdata.
func runsToRedact(t *testing.T) map[string]*record.Run {
	t.Helper()
	runs := verdict.FaultyRuns()
	maps.Copy(runs, verdict.HeldRuns())
	traces, err := corpus.Real()
	if err != nil {
		t.Fatal(err)
	}
	for i, trace := range corpus.Adversarial(7) {
		if i%3 == 0 { // all of them take minutes
			traces = append(traces, trace)
		}
	}
	generated := len(traces)
	traces = append(traces, corpus.Generate(7, 66)...)
	for i, trace := range traces {
		if n := trace.Run.Samples.Len(); n > 1000 {
			continue // says nothing that a shorter one does not, and takes long
		}
		name := fmt.Sprintf("corpus %d %s %s", i, trace.Kind, trace.Regime)
		runs[name+" with events"] = withEvents(trace.Run)
		if i < generated {
			runs[name] = trace.Run
		}
	}
	err = filepath.WalkDir("testdata", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != record.FileSamples {
			return err
		}
		run, err := record.Open(filepath.Dir(path))
		runs[path] = run
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

func TestARedactedCopyKeepsTheVerdictAndEveryCause(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	redactor := report.NewRedactor([]byte("salt"))
	runs, told := runsToRedact(t), map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(runs)) {
		v := verdict.Judge(runs[name], verdict.Options{})
		for _, c := range v.Causes {
			told[c.ID] = true
		}
		// A copy leaves the environment out, and with it the cause that rests on it
		// alone; everything else stays as it is without one.
		if run := *runs[name]; run.Meta.Env != nil {
			run.Meta.Env = nil
			v = verdict.Judge(&run, verdict.Options{})
		}
		copied := verdict.Judge(redactor.Run(runs[name]), verdict.Options{})
		if want, got := answer(v), answer(copied); got != want {
			t.Errorf("%s: the copy is %s\nwant %s", name, got, want)
		}
	}
	for _, id := range verdict.Causes() {
		if !told[id] {
			t.Errorf("no run has the cause %s: what becomes of it in a copy was not tried", id)
		}
	}
	if len(runs) < 250 {
		t.Errorf("%d runs", len(runs))
	}
}

func TestTheClaimIsTheSummaryWithoutItsLead(t *testing.T) {
	t.Parallel()
	runs, classes := verdict.FaultyRuns(), map[verdict.Class]bool{}
	for i, trace := range corpus.Generate(7, 66) {
		runs[fmt.Sprintf("corpus %d", i)] = trace.Run
	}
	for _, name := range slices.Sorted(maps.Keys(runs)) {
		v := verdict.Judge(runs[name], verdict.Options{})
		classes[v.Verdict] = true
		lead, ok := strings.CutSuffix(v.Summary, ": "+v.Claim)
		if !ok || v.Claim == "" || !strings.HasPrefix(lead, string(v.Verdict)) {
			t.Errorf("%s: %q has the claim %q", name, v.Summary, v.Claim)
		}
		text, err := json.Marshal(v)
		var again verdict.Verdict
		if err != nil || json.Unmarshal(text, &again) != nil || again.Claim != v.Claim {
			t.Errorf("%s: read back, the claim of %q is %q", name, v.Summary, again.Claim)
		}
	}
	if len(classes) < 6 {
		t.Errorf("classes %v", classes)
	}
}
