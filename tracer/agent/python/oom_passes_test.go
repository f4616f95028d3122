//go:build !windows

package python_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// keptPasses is what real PyTorch on the processor tells of an error while autograd's graph keeps
// what a program of passes.py made.
func keptPasses(t *testing.T, how, mode string) (d record.OOM) {
	t.Helper()
	cmd := exec.Command(realFramework(t, "torch").python, "tests/programs/passes.py", how, mode)
	cmd.Env = append(cmd.Environ(), "PYTHONPATH=files/lib", "PYTHONDONTWRITEBYTECODE=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &d)
	}
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, stderr.String())
	}
	return d
}

func TestAnErrorTellsHowManyForwardPassesTheGraphKeepsAndWhoHoldsThem(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]struct {
		passes, joined int64
		holder         string
	}{
		"one":      {1, 1, ""},
		"summed":   {6, 6, "summed() local total"},
		"listed":   {6, 1, "list listed() local outputs"},
		"trained":  {6, 1, "list trained() local losses"},
		"attacked": {1, 1, ""},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			g := keptPasses(t, how, "train").Graph
			if g == nil || g.Passes != want.passes || g.Joined != want.joined || g.Inputs != (how == "attacked") ||
				(g.Holder == nil) != (want.holder == "") || g.Training == nil || !*g.Training {
				t.Fatalf("graph %+v, want %+v", g, want)
			}
			if g.Holder != nil && (g.Holder.Path != want.holder || !strings.Contains(g.Holder.Filled, "passes.py:")) {
				t.Errorf("held by %+v, want %s", g.Holder, want.holder)
			}
			// Each pass has five results of 64 KiB: two sums go into others, and are no one's.
			const pass = 5 * 64 << 10
			if n := want.passes; how != "trained" && how != "attacked" && (g.Bytes/pass != n || g.Earlier/pass != n-1) {
				t.Errorf("%d bytes, %d of earlier passes; want %d of %d bytes", g.Bytes, g.Earlier, n, pass)
			}
			if how == "trained" && g.Bytes > 1024 {
				t.Errorf("%d bytes, where backward passes freed all but the losses", g.Bytes)
			}
		})
	}
}

func TestAStateThatGoesOnWithItsGraphIsOnePassOfManyStepsAndHasAName(t *testing.T) {
	t.Parallel()
	g := keptPasses(t, "carried", "train").Graph
	if g == nil || g.Passes != 1 || g.Uses != 20 || g.Holder == nil || g.Holder.Path != "carried() local state" {
		t.Errorf("graph %+v", g)
	}
}

func TestALossThatStaysInTrainingModeMakesNoModelTrain(t *testing.T) {
	t.Parallel()
	d := keptPasses(t, "one", "eval")
	if d.Graph == nil || d.Graph.Training == nil || *d.Graph.Training || d.Model.Training {
		t.Errorf("graph %+v, model %+v", d.Graph, d.Model)
	}
}

func TestWhoHoldsTensorsIsToldWithoutAnEarlierMoment(t *testing.T) {
	t.Parallel()
	d := keptPasses(t, "plain", "eval")
	if d.Graph != nil || len(d.Holders) != 1 || d.Holders[0].Path != "list plain() local kept" ||
		d.Holders[0].Bytes != 6*64<<10 || d.Holders[0].Count != 6 {
		t.Errorf("graph %+v, holders %+v", d.Graph, d.Holders)
	}
}
