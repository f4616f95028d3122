//go:build !windows

package python_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// kept is what the search for holders finds at the end of a program of
// tests/programs/kept.py, with modules of further folders.
func kept(t *testing.T, program string, folders ...string) string {
	t.Helper()
	cmd := exec.Command(realFramework(t, "torch").python, "tests/programs/kept.py", program)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+strings.Join(append(folders, library(t)), ":"),
		"PYTHONDONTWRITEBYTECODE=1")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s%s", err, out, stderr.String())
	}
	return string(out)
}

func TestGradientsWhoseGraphsLeadBackAreToldWithTheirTensors(t *testing.T) {
	t.Parallel()
	const want = "MiB: cycle of tensors and their gradients with graphs: "
	if got := kept(t, "gradients"); !strings.Contains(got, want) ||
		!strings.Contains(got, "kept.py:28 gradients") || strings.Contains(got, "gradient of a") {
		t.Errorf("%s, want %s", got, want)
	}
	if got := kept(t, "copies"); strings.Contains(got, "with graphs") ||
		!strings.Contains(got, "gradient of a Parameter") {
		t.Errorf("gradients without graphs: %s", got)
	}
}

func TestModulesThatComeAreNamedHoweverFarBelowAndWithTheirLine(t *testing.T) {
	t.Parallel()
	for program, want := range map[string]string{
		"adapters": "6 MiB: ModuleDict kept.server.model.model.model.model.model.model[…].up.adapters: ",
		"layers":   "3 MiB: ModuleList kept.model.model: ",
	} {
		got := kept(t, program)
		line := map[string]string{"adapters": "kept.py:50 load", "layers": "kept.py:89 layers"}[program]
		for _, when := range []string{"look: ", "end: "} {
			if !slices.ContainsFunc(strings.Split(got, "\n"), func(s string) bool {
				return strings.HasPrefix(s, when+want) && strings.HasSuffix(s, line)
			}) {
				t.Errorf("%s: %s, want %s at %s", program, got, when+want, line)
			}
		}
	}
}

func TestHooksOfAWeightAreSeenWhileItsGraphHoldsIt(t *testing.T) {
	t.Parallel()
	const want = "look: 8 MiB: OrderedDict kept.net.0.weight._backward_hooks[…]() default batch: "
	if got := kept(t, "hooks"); !strings.Contains(got, want) || !strings.Contains(got, "kept.py:135 hooks") {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestAGraphThatGrowsBelowAListHasTheLineThatAssignsIt(t *testing.T) {
	t.Parallel()
	got := kept(t, "state")
	if !strings.Contains(got, "list kept.cars[…].state: autograd graph of") ||
		!strings.Contains(got, "kept.py:104 state") {
		t.Error(got)
	}
}

func TestWhatErrorsKeepHasANameHoweverManyReferToTheSame(t *testing.T) {
	t.Parallel()
	got := kept(t, "errors")
	for _, want := range []string{"look: 38 MiB: dict kept.outcomes", "end: 37 MiB: dict kept.outcomes"} {
		if !slices.ContainsFunc(strings.Split(got, "\n"), func(s string) bool {
			return strings.HasPrefix(s, want) && strings.HasSuffix(s, "errors tracebacks-kept")
		}) {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestObjectsOfAnExtensionAreToldInNumberAlone(t *testing.T) {
	t.Parallel()
	models := os.Getenv("GPUMEM_TEST_MODELS")
	if _, err := os.Stat(models); models == "" || err != nil {
		t.Skip("tokenizers is not installed here; scripts/test.sh does that")
	}
	got := kept(t, "tokenizers", models)
	for _, when := range []string{"look", "end"} {
		want := when + ": 0 MiB: Tokenizer objects below kept.tenants: "
		if !strings.Contains(got, want) || !strings.Contains(got, "kept.py:184 tokenizers") {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestCopiesOfAModelsParametersAreSnapshots(t *testing.T) {
	t.Parallel()
	got := kept(t, "states")
	if n := strings.Count(got, "dict kept.importances"); n != 2 || strings.Count(got, " snapshots-kept\n") != n {
		t.Error(got)
	}
	if got := kept(t, "outputs"); !strings.Contains(got, "list kept.seen") ||
		strings.Contains(got, "snapshots") {
		t.Errorf("what is no state: %s", got)
	}
}
