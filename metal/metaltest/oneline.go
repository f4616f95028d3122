package metaltest

import (
	"errors"
	"strings"
	"testing"
)

// OneLine fails the test unless err is one line, as every refusal of a driver
// is, that says these words; it must match want where that is not nil.
func OneLine(t testing.TB, err, want error, says ...string) {
	t.Helper()
	if err == nil || want != nil && !errors.Is(err, want) {
		t.Fatalf("error %v, want one that matches %v", err, want)
	}
	for _, word := range says {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the error %q does not say %q", err, word)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("more than one line: %q", err)
	}
}
