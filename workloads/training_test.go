package workloads

import (
	"bytes"
	"fmt"
	"regexp"
	"testing"
)

// sineError is the mean squared error after one training on the host, healthy or
// with a fault.
func sineError(t *testing.T, fault string) (loss float64) {
	t.Helper()
	var out bytes.Buffer
	e := softEnv(t, &out, map[string]string{"epochs": "200", "runs": "1"})
	e.Open, e.Fault = nil, fault
	if err := run(t, "sine", e); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	found := regexp.MustCompile(`mean squared error ([\d.]+)`).FindStringSubmatch(out.String())
	if found == nil {
		t.Fatalf("no error is said:\n%s", out.String())
	}
	if _, err := fmt.Sscan(found[1], &loss); err != nil {
		t.Fatal(err)
	}
	return loss
}

func TestSineLearnsAndHardlyDoesWithTheOriginalsDoubleDivision(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	right, original := sineError(t, ""), sineError(t, doubleDivision)
	if right > 0.02 || original < 3*right {
		t.Errorf("mean squared error %g after 200 epochs, want at most 0.02; with the original's defect %g",
			right, original)
	}
}
