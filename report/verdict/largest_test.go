package verdict

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

func TestOfAGrowthThatNoHolderExplainsTheLargestOneIsToldAsThat(t *testing.T) {
	t.Parallel()
	const want = "; the largest holder that was found is dict serve.outcomes, filled at app/serve.py:86 in serve, " +
		"which keeps "
	of := func(bytes int64, path string) []record.Holder {
		return []record.Holder{
			{Path: "Tensor (3, 256) torch.float32: not found in time", Bytes: 8 * mib, Count: 40},
			{Path: path, Bytes: bytes * mib, Count: 4, Filled: "/srv/app/serve.py:86 serve"},
		}
	}
	v := held(of(6, "dict serve.outcomes"))
	if v.Verdict != AppLeak || !strings.Contains(v.Answer, want) || !strings.Contains(v.Next, "serve.outcomes") {
		t.Errorf("a third of it: %q, then %q", v.Answer, v.Next)
	}
	for what, holders := range map[string][]record.Holder{
		"too little":       of(2, "dict serve.outcomes"),
		"nameless":         of(6, "Tensor (2, 2): not found in time"),
		"it explains most": of(15, "dict serve.outcomes"),
	} {
		if v := held(holders); strings.Contains(v.Answer, "largest holder") {
			t.Errorf("%s: %q", what, v.Answer)
		}
	}
}
