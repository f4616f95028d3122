//go:build !windows

package python_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/peak"
	"github.com/gpumem/gpumem/tracer/record"
)

// recordedByModule is a window that real PyTorch on the processor recorded as if a
// caching allocator served it, its composition at the end, and what the program says
// of the hooks.
func recordedByModule(t *testing.T, arguments ...string) (run *record.Run, hooks map[string]int) {
	t.Helper()
	how := realFramework(t, "torch")
	cmd := exec.Command(how.python, append([]string{"tests/programs/modules.py"}, arguments...)...)
	cmd.Env = append(cmd.Environ(), "PYTHONPATH=files/lib", "PYTHONDONTWRITEBYTECODE=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	run = &record.Run{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		text := bytes.Clone(lines.Bytes())
		kind := record.KindWindow
		if bytes.Contains(text, []byte(`"categories"`)) {
			kind = record.KindComposition
		}
		if err := json.Unmarshal(text, &hooks); err == nil && hooks["calls"]+len(hooks) > 0 &&
			!bytes.Contains(text, []byte("part")) {
			return run, hooks
		}
		hooks = nil
		run.Events = append(run.Events, record.Event{TMs: 1, PID: 7, Kind: kind, Detail: text})
	}
	t.Fatalf("no word about hooks:\n%s", out)
	return nil, nil
}

// sumOf adds up what modules own, by module and category.
func sumOf(parts []peak.Owned) (all int64, by map[string]int64) {
	by = map[string]int64{}
	for _, p := range parts {
		by[p.Module+" "+p.Category] += p.Bytes
		all += p.Bytes
	}
	return all, by
}

func TestEachModuleOfARealModelHasItsParametersGradientsAndActivations(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"", "scanned"} { // with known optimizers, and without
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			run, hooks := recordedByModule(t, how)
			checkModules(t, run, hooks)
		})
	}
}

func checkModules(t *testing.T, run *record.Run, hooks map[string]int) {
	t.Helper()
	if hooks["during"] != 2 || hooks["after"] != 0 {
		t.Errorf("%d hooks in the window, %d after it", hooks["during"], hooks["after"])
	}
	m := peak.Of(run, peak.Growth{})
	p := m.Peak
	if p == nil || p.Allocator == nil || p.Bytes != *p.Allocator || *p.Unexplained != 0 {
		t.Fatalf("%+v, %s", p, m.Missing)
	}
	const kib = 1 << 10
	_, by := sumOf(p.Modules)
	for what, want := range map[string]int64{
		// 256 rows of 64 or 256 numbers of 4 bytes; what is added to the residual
		// stream is the block's own.
		"transformer.h.1.mlp.c_fc activations":     0, // what relu makes of it is kept in its place
		"transformer.h.1.mlp activations":          256 * kib,
		"transformer.h.1.ln activations":           64*kib + 2*kib,
		"transformer.h.1 activations":              64 * kib,
		"transformer.h.1.mlp.c_fc parameters":      65 * kib,
		"transformer.h.1.mlp.c_proj parameters":    64*kib + kib/2,
		"transformer.h.1.ln parameters":            kib,
		"head parameters":                          4*kib + kib/2,
		"transformer.h.1.ln optimizer state":       3 * kib, // Adam's two moments, and its steps
		"transformer.h.1.mlp.c_fc optimizer state": 131 * kib,
	} {
		if by[what] != want {
			t.Errorf("%s: %d bytes, want %d", what, by[what], want)
		}
	}
	gradients, nobodys := map[string]int64{}, int64(0)
	for _, part := range p.Allocated() {
		if part.Category != "gradients" {
			continue
		}
		gradients[part.Module] += part.Bytes
		if part.Module == "" {
			nobodys += part.Bytes
		}
	}
	if nobodys != 0 || gradients["transformer.h.2.mlp.c_fc"] != 3*65*kib { // three steps
		t.Errorf("gradients %v", gradients)
	}
	if p.NoModules != "" {
		t.Errorf("no modules: %s", p.NoModules)
	}
	// At the end there are parameters, gradients and state, all of them of modules.
	all, at := sumOf(m.Composition.Modules)
	if all != m.Composition.Bytes || at["head gradients"] != 4*kib+kib/2 {
		t.Errorf("modules own %d of %d bytes: %v", all, m.Composition.Bytes, at)
	}
}

func TestACompiledModelGetsNoHooksAndKeepsTheModulesOfItsParameters(t *testing.T) {
	t.Parallel()
	run, hooks := recordedByModule(t, "compiled")
	if hooks["during"] != 0 || hooks["calls"] != 0 {
		t.Errorf("hooks in a compiled program: %v", hooks)
	}
	p := peak.Of(run, peak.Growth{}).Peak
	if p == nil || p.NoModules != "torch.compile" {
		t.Fatalf("%+v", p)
	}
	_, by := sumOf(p.Modules)
	for what := range by {
		if strings.HasSuffix(what, "activations") {
			t.Errorf("%s: %d", what, by[what])
		}
	}
	if by["head parameters"] != 4608 {
		t.Errorf("%v", by)
	}
}
