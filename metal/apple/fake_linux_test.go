//go:build linux && (amd64 || arm64)

package apple_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/gpumem/gpumem/internal/loader/standin"
	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/apple"
	"github.com/gpumem/gpumem/metal/apple/appletest"
	"github.com/gpumem/gpumem/metal/metaltest"
)

// fake is the fake library, built once.
var fake string

// givenFake names a fake that was built elsewhere: under an emulator there is
// no compiler.
const givenFake = "GPUMEM_TEST_FAKE_METAL"

func TestMain(m *testing.M) {
	os.Exit(buildAndTest(m))
}

func buildAndTest(m *testing.M) int {
	if fake = os.Getenv(givenFake); fake != "" {
		return m.Run()
	}
	if flag.Parse(); testing.Short() {
		fmt.Println("the quick lane leaves this to the whole: the fake needs a C compiler")
		return 0
	}
	dir, err := os.MkdirTemp("", "gpumem-apple-")
	if err == nil {
		defer os.RemoveAll(dir)
		fake, err = appletest.Make(dir, runtime.GOARCH)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func TestTheDriverKeepsTheContractOnTheFake(t *testing.T) {
	for _, c := range []struct {
		name string
		conf []string
	}{
		{"at its own pace", nil},
		{"with slow completion", []string{"lag_us 200"}},
		{"on an old system", []string{"without setMathMode: newResidencySetWithDescriptor:error:",
			"group 48"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && c.conf != nil {
				t.Skip("an emulated processor takes long")
			}
			t.Parallel()
			library := appletest.Copy(t, fake, c.conf...)
			metaltest.Run(t, func(t *testing.T, f metaltest.Faults) metal.Device {
				return mustOpen(t, apple.Options{
					Library: library, WorkingSet: cmp.Or(f.WorkingSet, 4<<30), MaxBuffers: f.MaxBuffers,
					Faults: metal.Faults{
						FailAllocation: f.FailAllocation, ShrinkAfter: f.ShrinkAfter, ShrinkTo: f.ShrinkTo,
						NoAutorelease: f.NoAutorelease, CompletionLag: f.CompletionLag,
					},
				})
			}, metaltest.Abilities{Contents: true, Faults: true})
			nothingIsLeft(t, library)
		})
	}
}

// nothingIsLeft asks the fake what exists.
func nothingIsLeft(t *testing.T, library string) {
	t.Helper()
	for _, what := range []string{"objects", "pools", "missing"} {
		if n := count(t, library, what); n != 0 {
			t.Errorf("%s: %d are left in the fake", what, n)
		}
	}
	if count(t, library, "calls") == 0 {
		t.Error("no message was sent: the test looks at nothing")
	}
}

// count is what the fake says exists.
func count(t testing.TB, library, what string) int64 {
	t.Helper()
	return standin.Ask(t, library, "gpumem_fake_count", what)
}
