//go:build amd64 || arm64

package e2e

import (
	"slices"
	"testing"

	"github.com/gpumem/gpumem/report/cause"
	"github.com/gpumem/gpumem/report/verdict"
)

// eventUser makes an event of the CUDA driver a step, and with an argument
// destroys the one of 64 steps before.
const eventUser = `#include <stdint.h>
#include <unistd.h>
int cuInit(unsigned);
int cuEventCreate(uint64_t *, unsigned);
int cuEventDestroy_v2(uint64_t);
int main(int argc, char **argv) {
	uint64_t ring[64] = {0};
	cuInit(0);
	for (int i = 0; i < 1000; i++, usleep(5000)) {
		if (argc > 1 && ring[i % 64]) cuEventDestroy_v2(ring[i % 64]);
		cuEventCreate(&ring[i % 64], 0);
	}
}
`

// TestEventsThatAreNeverDestroyedAreALeakWithoutBytes: nobody tells device bytes,
// and a thousand events of the stub cost less host memory than any threshold.
func TestEventsThatAreNeverDestroyedAreALeakWithoutBytes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	dir := t.TempDir()
	program := onStubDriver(t, dir, eventUser)
	for _, c := range []struct {
		name  string
		args  []string
		class verdict.Class
	}{
		{"kept", nil, verdict.DriverGrowth},
		{"destroyed", []string{"destroy"}, verdict.None},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"-q", "--gpu", "none", "--inject", "preload", "--interval", "20ms", "--",
				program}, c.args...)
			_, v := decided(t, dir, noLibrary(t), c.name, args...)
			isHandles := func(c verdict.Cause) bool { return c.ID == cause.HandleLeak }
			if v.Verdict != c.class || slices.ContainsFunc(v.Causes, isHandles) != (c.class == verdict.DriverGrowth) {
				t.Errorf("%s, want %s, with %+v: %s", v.Verdict, c.class, v.Causes, v.Summary)
			}
		})
	}
}
