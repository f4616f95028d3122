//go:build linux && (amd64 || arm64)

package main

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/cmd/gpumem/device"
	"github.com/gpumem/gpumem/metal/apple/appletest"
	"github.com/gpumem/gpumem/workloads"
)

// TestTheWorkloadsComputeOnAppleWhatTheyComputeOnSoft runs them on the fake of
// Metal, which executes the kernels' one source. Without its autorelease pools
// the driver grows as the investigation's did.
func TestTheWorkloadsComputeOnAppleWhatTheyComputeOnSoft(t *testing.T) {
	t.Parallel()
	library, err := appletest.Make(t.TempDir(), runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	env := device.MetalLibrary + "=" + library
	for _, c := range []struct {
		args  string
		truth workloads.Fault
	}{
		{"nqueens --attempts=2", workloads.Fault{Truth: "none"}},
		{"nqueens --fault=no-autorelease-pool --attempts=2", workloads.Fault{Truth: "driver-growth", Cause: "missing-autorelease-pool"}},
		{"nqueens --fault=uncut-graph --attempts=2", workloads.Fault{Truth: "app-leak", Cause: "uncut-autograd-graph"}},
		{"xor --runs=3", workloads.Fault{Truth: "none"}},
		{"xor --fault=no-flush --runs=2", workloads.Fault{Truth: "app-leak", Cause: "command-buffer-backlog"}},
		{"modelload --scale=8", workloads.Fault{Truth: "none"}},
	} {
		t.Run(c.args, func(t *testing.T) {
			dir := t.TempDir()
			outputs := map[string]string{}
			for _, device := range []string{device.Apple, device.Soft} {
				args := append([]string{"run", "--out", device}, strings.Fields(c.args)...)
				got := gpumemEnv(t, dir, []string{env}, append(args, "--device="+device)...)
				if got.code != 0 {
					t.Fatalf("exit code %d on %s\n%s%s", got.code, device, got.stdout, got.stderr)
				}
				outputs[device] = got.stdout
			}
			sameResults(t, outputs[device.Apple], outputs[device.Soft])
			v := readVerdict(t, filepath.Join(dir, device.Apple))
			if string(v.Verdict) != c.truth.Truth {
				t.Errorf("verdict %s, want %s: %s", v.Verdict, c.truth.Truth, v.Summary)
			}
			if c.truth.Cause != "" && (len(v.Causes) != 1 || v.Causes[0].ID != c.truth.Cause) {
				t.Errorf("causes %+v, want %s", v.Causes, c.truth.Cause)
			}
			if device := recordedDevice(t, filepath.Join(dir, device.Apple)); device != "Fake M1" {
				t.Errorf("the run says it ran on %q", device)
			}
		})
	}
}
