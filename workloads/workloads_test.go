package workloads

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/soft"
)

// softEnv is an environment on the soft device; out gets both streams.
func softEnv(t *testing.T, out *bytes.Buffer, flags map[string]string) Env {
	t.Helper()
	return Env{
		Open: func(f DeviceFaults) (metal.Device, error) {
			return soft.Open(soft.Options{Faults: soft.Faults{NoAutorelease: f.NoAutorelease}})
		},
		Seed: 1, Repeat: 1, Flags: flags, LeakThreshold: 1 << 20,
		Stdout: out, Stderr: out, LookupEnv: func(string) (string, bool) { return "", false }, TempDir: t.TempDir(),
	}
}

func run(t *testing.T, name string, e Env) error {
	t.Helper()
	w, ok := ByName(name)
	if !ok {
		t.Fatalf("no workload %s", name)
	}
	return w.Run(context.Background(), e)
}

func TestQueensAreReallySolved(t *testing.T) {
	t.Parallel()
	for _, device := range []string{"soft", "host"} {
		var out bytes.Buffer
		e := softEnv(t, &out, map[string]string{"solutions": "2"})
		if device == "host" {
			e.Open = nil
		}
		if err := run(t, "nqueens", e); err != nil {
			t.Fatalf("%s: %v\n%s", device, err, out.String())
		}
		if !strings.Contains(out.String(), "2 of 2 solutions") {
			t.Errorf("%s: %s", device, out.String())
		}
		t.Logf("%s: %s", device, out.String())
	}
}

func TestHealthyTrainingConvergesAndLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"xor", "sine"} {
		var out bytes.Buffer
		if err := run(t, name, softEnv(t, &out, map[string]string{"runs": "2"})); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out.String())
		}
		t.Logf("%s: %s", name, out.String())
	}
}

func TestTheSmallTwinIsLoadedAndGivenBack(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(t, "modelload", softEnv(t, &out, map[string]string{"scale": "8"})); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	t.Log(out.String())
	_ = os.Stdout
}
