//go:build linux && (amd64 || arm64)

package cuda_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/gpumem/gpumem/internal/loader/standin"
	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/cuda"
	"github.com/gpumem/gpumem/metal/cuda/cudatest"
	"github.com/gpumem/gpumem/metal/metaltest"
)

// stub is the stub library, built once.
var stub string

func TestMain(m *testing.M) {
	os.Exit(buildAndTest(m))
}

func buildAndTest(m *testing.M) int {
	if device := os.Getenv("GPUMEM_TEST_CUDA"); device != "" {
		return m.Run() // on a real GPU there may be no compiler
	}
	if flag.Parse(); testing.Short() {
		fmt.Println("the quick lane leaves this to the whole: the stub needs a C compiler")
		return 0
	}
	dir, err := os.MkdirTemp("", "gpumem-cuda-")
	if err == nil {
		defer os.RemoveAll(dir)
		stub, err = cudatest.Make(dir, cudatest.Newest)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// options are the suite's faults as this driver's.
func options(library string, f metaltest.Faults) cuda.Options {
	return cuda.Options{
		Library: library, WorkingSet: f.WorkingSet, MaxBuffers: f.MaxBuffers,
		Faults: cuda.Faults{
			FailAllocation: f.FailAllocation, ShrinkAfter: f.ShrinkAfter, ShrinkTo: f.ShrinkTo,
			CompletionLag: f.CompletionLag,
		},
	}
}

func TestTheDriverKeepsTheContractOnTheStub(t *testing.T) {
	if stub == "" {
		t.Skip("a real GPU is tested")
	}
	for _, c := range []struct {
		name  string
		plain bool
		conf  []string
	}{
		{"with memory pools", false, nil},
		{"by plain allocations", true, nil},
		{"with slow completion", false, []string{"lag_us 200"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			library := cudatest.Copy(t, stub, c.conf...)
			metaltest.Run(t, func(t *testing.T, f metaltest.Faults) metal.Device {
				o := options(library, f)
				o.PlainAllocations = c.plain
				o.WorkingSet = cmp.Or(o.WorkingSet, 4<<30)
				return mustOpen(t, o)
			}, metaltest.Abilities{Faults: true})
			nothingIsLeft(t, library)
		})
	}
}

// nothingIsLeft asks the stub what exists.
func nothingIsLeft(t *testing.T, library string) {
	t.Helper()
	for _, what := range []string{"allocations", "taken", "streams", "events", "modules",
		"pools", "contexts"} {
		if n := count(t, library, what); n != 0 {
			t.Errorf("%d %s are left in the driver", n, what)
		}
	}
}

// count is what the stub says exists.
func count(t *testing.T, library, what string) int64 {
	t.Helper()
	return standin.Ask(t, library, "gpumem_stub_count", what)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
