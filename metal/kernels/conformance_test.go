package kernels_test

import (
	"sync"
	"testing"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/kernels"
	"github.com/gpumem/gpumem/metal/metaltest"
)

func TestEveryKernelComputesWhatItsReferenceDoes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		parallel func(n, grain int, body func(lo, hi int))
	}{
		{"on one core", nil},
		{"in many parts at once", func(n, grain int, body func(lo, hi int)) {
			var wait sync.WaitGroup
			step := max(grain, n/7)
			for lo := 0; lo < n; lo += step {
				wait.Go(func() { body(lo, min(lo+step, n)) })
			}
			wait.Wait()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			metaltest.Kernels(t, func(k kernels.Kernel, grid metal.Size, args [][]byte) error {
				return k.Run(kernels.Call{Grid: grid, Args: args, Parallel: c.parallel})
			})
		})
	}
}

func TestTheTableDescribesEveryKernelOnce(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, k := range kernels.All() {
		if names[k.Name] || k.Name == "" || k.Summary == "" || k.Grid == "" {
			t.Errorf("kernel %q: its name is taken or something is empty: %+v", k.Name, k)
		}
		names[k.Name] = true
		found, ok := kernels.ByName(k.Name)
		if !ok || found.Name != k.Name {
			t.Errorf("kernel %s is not found by its name", k.Name)
		}
		args := map[string]bool{}
		for i, a := range k.Args {
			if args[a.Name] || a.Name == "" {
				t.Errorf("kernel %s: argument %d has no name of its own: %q", k.Name, i, a.Name)
			}
			args[a.Name] = true
			if a.Kind.IsBuffer() != (i < k.Buffers()) {
				t.Errorf("kernel %s: argument %d (%s): buffers do not come first", k.Name, i, a.Name)
			}
		}
	}
	for _, name := range []string{
		"linear_fwd", "linear_bwd_input", "linear_bwd_weights", "adam_step", "mse_grad", "matmul", "add",
		"relu", "sigmoid",
		"tanh", "mat_transpose", "add_bias", "copy_inplace",
	} {
		if !names[name] {
			t.Errorf("there is no kernel %s", name)
		}
	}
	if _, ok := kernels.ByName(""); ok {
		t.Error("a kernel without a name")
	}
}

func TestAllReturnsACopy(t *testing.T) {
	t.Parallel()
	kernels.All()[0].Name = "changed"
	if got := kernels.All()[0].Name; got == "changed" {
		t.Error("a caller changed the table")
	}
}
