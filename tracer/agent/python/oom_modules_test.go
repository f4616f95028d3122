//go:build !windows

package python_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// failedInForward is what real PyTorch on the processor tells of an error in a forward
// pass, as if a caching allocator had refused what a module asks for: the last block's
// c_proj, or with the argument late the head.
func failedInForward(t *testing.T, arguments ...string) (d record.OOM) {
	t.Helper()
	how := realFramework(t, "torch")
	cmd := exec.Command(how.python, append([]string{"tests/programs/modules.py", "error"}, arguments...)...)
	cmd.Env = append(cmd.Environ(), "PYTHONPATH=files/lib", "PYTHONDONTWRITEBYTECODE=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return d
}

func TestAnErrorInAForwardPassTellsTheModulesOfActivations(t *testing.T) {
	t.Parallel()
	d := failedInForward(t)
	if d.Module != "transformer.h.2.mlp.c_proj" {
		t.Errorf("asked by %q", d.Module)
	}
	const kib = 1 << 10
	by, sums := map[string]int64{}, map[string]int64{}
	for _, m := range d.Modules {
		by[m.Module+" "+m.Category] += m.Bytes
		sums[m.Category] += m.Bytes
	}
	for what, want := range map[string]int64{
		"transformer.h.1.mlp activations":            256 * kib, // relu's, between c_fc and c_proj
		"transformer.h.2.mlp activations":            256 * kib,
		"transformer.h.1.ln activations":             64 * kib,
		"transformer.h activations":                  128 * kib, // two sums, between one block and the next
		"transformer.h.1.mlp.c_fc activations":       0,         // relu's takes its place
		"transformer.h.1.mlp.c_fc parameters":        65 * kib,
		"transformer.h.1.mlp.c_proj gradients":       64*kib + kib/2,
		"transformer.h.1.mlp.c_fc optimizer state":   131 * kib,
		"transformer.h.2.mlp.c_proj activations":     0, // it failed
		"head activations":                           0, // not reached
		"transformer.h.0.ln activations":             64 * kib,
		"transformer.h.0.mlp.c_proj activations":     0, // the sum is kept in its place, or nothing
		"transformer.h.2.mlp.c_proj optimizer state": 2*(64*kib+kib/2) + kib,
	} {
		if by[what] != want {
			t.Errorf("%s: %d bytes, want %d", what, by[what], want)
		}
	}
	for name, bytes := range sums {
		if bytes != d.Categories[name] {
			t.Errorf("modules own %d of %d bytes of %s", bytes, d.Categories[name], name)
		}
	}
}

func TestWhatLiesBetweenTheLastBlockAndTheHeadIsTheModelsOwn(t *testing.T) {
	t.Parallel()
	d := failedInForward(t, "late")
	own := int64(0)
	for _, m := range d.Modules {
		if m.Category == "activations" && m.Module == "Gpt" {
			own += m.Bytes
		}
	}
	if d.Module != "head" || own != 64<<10 { // the sum that the last block ends with
		t.Errorf("asked by %q, %d bytes are of the model itself: %+v", d.Module, own, d.Modules)
	}
}
