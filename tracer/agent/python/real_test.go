//go:build !windows

package python_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// realFramework is how to run a program with a real framework, as scripts/test.sh
// installs them: PyTorch for the interpreter GPUMEM_TEST_TORCH, JAX and MLX for
// the one on PATH in the folder GPUMEM_TEST_FRAMEWORKS.
func realFramework(t *testing.T, name string) traced {
	t.Helper()
	how := traced{args: []string{"real.py", name}, ask: []string{"holders"},
		python: os.Getenv("GPUMEM_TEST_TORCH")}
	if name != "torch" {
		how.python, how.path = interpreter(t), []string{os.Getenv("GPUMEM_TEST_FRAMEWORKS")}
	}
	cmd := exec.Command(how.python, "-c", "import "+name)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+strings.Join(how.path, ":"))
	if how.python == "" || cmd.Run() != nil {
		t.Skipf("%s is not installed here; scripts/test.sh does that", name)
	}
	return how
}

func TestARealFrameworkOnTheProcessorRunsAsWithoutUsAndItsHolderIsNamed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"torch", "jax", "mlx"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := run(t, realFramework(t, name))
			if o.code != 0 || o.stdout != "40\n" || o.stderr != "" {
				t.Errorf("code %d, stdout %q, stderr %q", o.code, o.stdout, o.stderr)
			}
			p := o.main(t)
			if step := p.last(t, record.ColStep); step != 40 {
				t.Errorf("step %d at the end", step)
			}
			for _, m := range p.marks {
				if m.Kind == record.KindWarning {
					t.Errorf("warning: %s", m.Name)
				}
			}
			holders := detail[record.Holder](t, p.dones[0], "holders")
			// What lived at the survey, some steps in, is not accused.
			if !slices.ContainsFunc(holders, func(h record.Holder) bool {
				return h.Path == "list real.kept" && h.Count >= 20 && h.Count < 40 && h.Bytes == h.Count*mib
			}) {
				t.Errorf("holders %+v, want list real.kept with 20 to 39 arrays of 1 MiB", holders)
			}
			workers := len(o.tracer.procs) - 1
			if name == "torch" && workers != 2 || name != "torch" && workers != 0 {
				t.Errorf("%d worker processes said hello", workers)
			}
		})
	}
}
