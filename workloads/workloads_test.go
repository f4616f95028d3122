package workloads

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/soft"
)

// softEnv is an environment on the soft device; out gets both streams.
func softEnv(t testing.TB, out *bytes.Buffer, flags map[string]string) Env {
	t.Helper()
	return Env{
		Open: func(DeviceFaults) (metal.Device, error) { return soft.Open(soft.Options{}) },
		Seed: 1, Repeat: 1, Flags: flags, LeakThreshold: 1 << 20,
		Stdout: out, Stderr: out, LookupEnv: func(string) (string, bool) { return "", false }, TempDir: t.TempDir(),
	}
}

func run(t testing.TB, name string, e Env) error {
	t.Helper()
	w, ok := ByName(name)
	if !ok {
		t.Fatalf("no workload %s", name)
	}
	return w.Run(context.Background(), e)
}

func TestQueensAreReallySolvedOnTheDeviceAndOnTheHost(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	for _, device := range []string{"soft", "host"} {
		var out bytes.Buffer
		e := softEnv(t, &out, map[string]string{"solutions": "1"})
		if device == "host" {
			e.Open = nil
		}
		if err := run(t, "nqueens", e); err != nil {
			t.Fatalf("%s: %v\n%s", device, err, out.String())
		}
		if !strings.Contains(out.String(), "1 of 1 solutions") {
			t.Errorf("%s: %s", device, out.String())
		}
	}
}

func TestASolutionHasNoTwoQueensThatAttack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		columns []int
		want    bool
	}{
		{[]int{4, 2, 0, 6, 1, 7, 5, 3}, true},
		{[]int{4, 2, 0, 6, 1, 7, 5, 4}, false}, // a column
		{[]int{0, 1, 2, 3, 4, 5, 6, 7}, false}, // a main diagonal
		{[]int{7, 6, 5, 4, 3, 2, 1, 0}, false}, // an anti-diagonal
		{[]int{0, 4, 7, 5, 2, 6, 1, 2}, false},
	} {
		if got := isSolution(c.columns); got != c.want {
			t.Errorf("isSolution(%v) = %v", c.columns, got)
		}
	}
}

func TestHealthyTrainingConvergesAndMostBuffersReturn(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	for _, name := range []string{"xor", "sine"} {
		var out bytes.Buffer
		if err := run(t, name, softEnv(t, &out, map[string]string{"runs": "2"})); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out.String())
		}
		if !strings.Contains(out.String(), "100.0 % of returns kept") {
			t.Errorf("%s: the default policy keeps less: %s", name, out.String())
		}
	}
}

func TestInferenceOnTheHostSaysWhatItNeeds(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	e := softEnv(t, &out, nil)
	e.Open = nil
	if err := run(t, "inference", e); err == nil || !strings.Contains(err.Error(), "--device") {
		t.Errorf("error %v", err)
	}
}

func TestEachFaultRunsToItsEnd(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	small := map[string]map[string]string{
		"modelload": {"scale": "8"},
		"nqueens":   {"epochs": "50", "attempts": "1"},
		"xor":       {"epochs": "30", "runs": "1"},
		"sine":      {"epochs": "2", "runs": "1"},
		"inference": {"requests": "80"},
		"generate":  {"requests": "12"},
	}
	for _, w := range All() {
		for _, f := range w.Faults {
			var out bytes.Buffer
			e := softEnv(t, &out, small[w.Name])
			e.Fault = f.Name
			if err := run(t, w.Name, e); err != nil {
				t.Errorf("%s %s: %v\n%s", w.Name, f.Name, err, out.String())
			}
		}
	}
}

func TestEveryPolicyServesEveryWorkload(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	for _, policy := range []string{"default", "tensorlogic", "candle", "tl", "neatml", "none"} {
		for name, flags := range map[string]map[string]string{
			"modelload": {"scale": "8"},
			"xor":       {"epochs": "1000", "runs": "1"},
			"nqueens":   {"epochs": "20", "attempts": "1", "solutions": "1"},
			"inference": {"requests": "80"},
			"generate":  {"requests": "12", "at-once": "3"},
		} {
			var out bytes.Buffer
			e := softEnv(t, &out, flags)
			e.Policy = policy
			err := run(t, name, e)
			if name == "nqueens" && err != nil && strings.Contains(err.Error(), "found 0 of 1") {
				err = nil // twenty epochs solve nothing, and that is said
			}
			if err != nil {
				t.Errorf("%s under %s: %v\n%s", name, policy, err, out.String())
			}
		}
	}
}

func TestBadSettingsAreErrorsBeforeAnythingRuns(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(*Env){
		"no fault":  func(e *Env) { e.Fault = "rust" },
		"no flag":   func(e *Env) { e.Flags = map[string]string{"speed": "9"} },
		"bad value": func(e *Env) { e.Flags = map[string]string{"epochs": "-1"} },
		"no policy": func(e *Env) { e.Policy = "hoard" },
		"no device": func(e *Env) {
			e.Open = func(DeviceFaults) (metal.Device, error) { return nil, errors.New("no device here") }
		},
	} {
		var out bytes.Buffer
		e := softEnv(t, &out, nil)
		change(&e)
		if err := run(t, "xor", e); err == nil || strings.Contains(out.String(), "run 1") {
			t.Errorf("%s: error %v, output %q", what, err, out.String())
		}
	}
}
