package verdict

import (
	"testing"

	"github.com/gpumem/gpumem/internal/eval/corpus"
)

func TestEveryRealTraceGetsItsLabel(t *testing.T) {
	t.Parallel()
	traces, err := corpus.Real()
	if err != nil {
		t.Fatal(err)
	}
	if len(traces) != 24 {
		t.Fatalf("%d traces, want 24", len(traces))
	}
	for _, tr := range traces {
		if v := Judge(tr.Run, Options{}); string(v.Verdict) != tr.Truth {
			t.Errorf("%s: %s (%s %.2f), want %s: %s", tr.Kind, v.Verdict, v.Tier, v.Confidence, tr.Truth, v.Summary)
		}
	}
}
