//go:build !windows

package python_test

import (
	"encoding/json"
	"fmt"
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

func TestMemoryOfMLXIsToldByWhatItIsFor(t *testing.T) {
	t.Parallel()
	how := realFramework(t, "mlx")
	how.args = []string{"mlx_model.py"}
	o := run(t, how)
	var parameters, state int64
	if n, err := fmt.Sscan(o.stdout, &parameters, &state); n != 2 || o.stderr != "" {
		t.Fatalf("%v: stdout %q, stderr %q", err, o.stdout, o.stderr)
	}
	p := o.main(t)
	for _, m := range p.marks {
		if m.Kind != record.KindComposition {
			continue
		}
		var c record.Composition
		if err := json.Unmarshal(m.Detail, &c); err != nil {
			t.Fatal(err)
		}
		sum := int64(0)
		for _, bytes := range c.Categories {
			sum += bytes
		}
		if c.Categories["parameters"] != parameters || c.Categories["optimizer state"] != state ||
			c.Categories["other arrays of Python"] < mib || sum != p.last(t, record.ColLive) {
			t.Errorf("%v; want parameters %d, state %d, in all %d", c.Categories, parameters, state,
				p.last(t, record.ColLive))
		}
		return
	}
	t.Error("no composition was told")
}

// TestATensorThatOnlyAutogradHoldsStaysUsableWhenThatLetsGo: PyTorch 2 frees what is found
// by a weak reference, and warns on the program's stderr, unless it is told. PyTorch 1 never
// frees what it was told of, so that it is not told.
func TestATensorThatOnlyAutogradHoldsStaysUsableWhenThatLetsGo(t *testing.T) {
	t.Parallel()
	how := realFramework(t, "torch")
	const program = `
import types, weakref
import torch
from gpumem_agent.frameworks import torch as adapter

framework = adapter.open_framework(torch, types.SimpleNamespace(late=None, sites_wanted=False))
saved = torch.ones(3, requires_grad=True).exp()
reference = weakref.ref(saved)
product = saved * saved
del saved
found = framework.alive(reference)
if int(torch.__version__.partition(".")[0]) >= 2:
    del product
    print("usable", round(float(found.sum()), 2) == 8.15)
    del found
else:
    del found, product
print("freed", reference() is None)
`
	cmd := exec.Command(how.python, "-c", program)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+library(t), "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Contains(string(out), "False") || !strings.Contains(string(out), "freed True") {
		t.Errorf("%v: %s", err, out)
	}
}

// PyTorch adds the rows of each backward pass to the gradient of an embedding that nobody zeroes.
func TestASparseGradientThatNobodyZeroesIsMeasuredAndNamed(t *testing.T) {
	t.Parallel()
	how := realFramework(t, "torch")
	const program = `
import time, types
import torch
from gpumem_agent.holders import running, sparse

table, dense = torch.nn.Embedding(90_000, 64, sparse=True), torch.nn.Embedding(10, 4)
process, sizes = types.SimpleNamespace(frameworks=[]), {}
for turn in range(3):
    for _ in range(8):
        table(torch.randint(0, 90_000, (1000,))).sum().backward()
    dense(torch.zeros(3, dtype=torch.long)).sum().backward()
    reference = running.Noted(running.reached([]), {})
    told, noted = running.look(process, reference, time.monotonic() + 60, ((), {}, sizes))
    sizes = noted.sizes
gradient = table.weight.grad
size = sum(part.numel() * part.element_size() for part in (gradient._values(), gradient._indices()))
meanwhile, rows = [], table(torch.randint(0, 90_000, (9,)))
rows.register_hook(lambda gradient: meanwhile.append(sparse.size(table)))
print(sparse.size(table) == (size, True), sparse.size(dense) is None)
rows.sum().backward()
print("in a backward pass:", *meanwhile)
for entry in told:
    print(entry["path"], entry.get("kind"), .6 < entry["bytes"] / size < .7)
`
	cmd := exec.Command(how.python, "-c", program)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+library(t), "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	const path = "gradient of a Parameter of Embedding __main__.table gradients-never-zeroed True\n"
	const begins = "True True\nin a backward pass: busy\n"
	if err != nil || !strings.HasPrefix(string(out), begins) || !strings.Contains(string(out), path) {
		t.Errorf("%v: %s", err, out)
	}
}
