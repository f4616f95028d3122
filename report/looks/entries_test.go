package looks

import (
	"testing"
)

func TestWholeOf(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"dict main() local sessions[…].history": "main() local sessions",
		"dict train.cache":                      "train.cache",
		"main() local total":                    "",
		"train.total":                           "",
	} {
		if got := wholeOf(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
