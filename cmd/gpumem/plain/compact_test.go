package plain

import "testing"

func TestTheLevelsOfTensorLogicsMonitorAreItsMegabytes(t *testing.T) {
	t.Parallel()
	for mb, want := range map[float64]string{
		0: "none", 0.01: "minimal", 1: "minimal", 1.01: "low", 100: "low", 100.5: "moderate", 1000: "moderate",
		1000.1: "high",
	} {
		if got := memoryLevel(mb); got != want {
			t.Errorf("%v MB is %s, want %s", mb, got, want)
		}
	}
}
