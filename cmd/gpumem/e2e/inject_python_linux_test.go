package e2e

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

func TestTheReportSaysWhatBecameOfThePythonAgent(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	python, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		t.Fatalf("no python3, and what is tested is its agent: %v", err)
	}
	python3 := strings.TrimSpace(string(python))
	const tamper = `import os
agent = os.path.join(os.environ["PYTHONPATH"].split(":")[0], "lib", "gpumem_agent", "holders", "paths.py")
open(agent, "w").write("raise SystemExit(3)")
print("fine")`
	const cut = `import os, time
os.remove(os.environ["GPUMEM_AGENT"])
os.closerange(3, 4096)
time.sleep(3)
print("fine")`
	const again = `import os, time, gpumem_agent
agent = gpumem_agent.agent()
cut = agent.connection
os.closerange(3, 4096)
while agent.connection is cut or not agent.connection.is_open:
    time.sleep(0.01)
time.sleep(1.5)
print("fine")`
	for name, c := range map[string]struct {
		command []string
		says    string // "" for no word about the agent
	}{
		"isolated": {[]string{python3, "-I", "-c", "print('fine')"},
			"-I keeps it from its environment"},
		"without environment": {[]string{python3, "-sE", "-c", "print('fine')"},
			"-sE keeps it from its environment"},
		"as usual":         {[]string{python3, "-c", "print('fine')"}, ""},
		"no Python at all": {[]string{"echo", "fine"}, ""},
		"cut off":          {[]string{python3, "-c", cut}, "cut off its agent "},
		"connected again":  {[]string{python3, "-c", again}, ""},
		"tampered with": {[]string{python3, "-c", tamper},
			"is not to be trusted: python agent: file changed: lib/gpumem_agent/holders/paths.py"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			// A cache of its own: what one program tampers with is not the others' agent.
			o := gpumemEnv(t, dir, []string{"XDG_CACHE_HOME=" + dir},
				append([]string{"run", "-q", "--out", "run", "--"}, c.command...)...)
			if o.code != 0 || o.stdout != "fine\n" {
				t.Fatalf("code %d, stdout %q: %s", o.code, o.stdout, o.stderr)
			}
			warnings := readVerdict(t, filepath.Join(dir, "run")).Warnings
			told := slices.DeleteFunc(warnings, func(w string) bool { return !strings.Contains(w, "agent") })
			if c.says == "" && len(told) != 0 || c.says != "" &&
				(len(told) != 1 || !strings.Contains(told[0], c.says)) {
				t.Errorf("warnings %q", warnings)
			}
		})
	}
}

func TestWhatTheProgramHadInItsEnvironmentStays(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	dir := t.TempDir()
	const text = "import sys\nsys.users_own = 'theirs'\n"
	if err := os.WriteFile(filepath.Join(dir, "sitecustomize.py"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	const show = `import os, sys
print(os.environ["LD_PRELOAD"].split(":")[-1], os.environ["PYTHONPATH"].split(":")[-1],
      os.environ["CUDA_INJECTION64_PATH"], sys.users_own)`
	preload := "/nowhere/theirs.so" // the loader complains, and goes on
	env := []string{"LD_PRELOAD=" + preload, "PYTHONPATH=" + dir,
		"CUDA_INJECTION64_PATH=/nowhere/injection.so"}
	o := gpumemEnv(t, dir, env, "run", "-q", "--out", "run", "--", "python3", "-c", show)
	if want := preload + " " + dir + " /nowhere/injection.so theirs\n"; o.code != 0 || o.stdout != want {
		t.Errorf("code %d, stdout %q, want %q: %s", o.code, o.stdout, want, o.stderr)
	}
	run, err := record.Open(filepath.Join(dir, "run"))
	if err != nil {
		t.Fatal(err)
	}
	if env := run.Meta.Env; env["LD_PRELOAD"] != preload || env["GPUMEM_CAPTURE_DIR"] != "" {
		t.Errorf("run.json tells what gpumem itself added: %v", env)
	}
}

func TestGpumemUnderGpumemTracesAndRunsTheUsersSitecustomizeOnce(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	dir := t.TempDir()
	const text = "import sys\nsys.times = getattr(sys, 'times', 0) + 1\n"
	if err := os.WriteFile(filepath.Join(dir, "sitecustomize.py"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	// Runs share the agent's folder; one with another cache has one of its own.
	for name, cache := range map[string]string{"the same agent": "",
		"another agent": "XDG_CACHE_HOME=" + filepath.Join(dir, "cache")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := t.TempDir()
			o := gpumemEnv(t, out, []string{"PYTHONPATH=" + dir}, "run", "-q", "--out", "outer", "--",
				"env", cmp.Or(cache, "A=B"), binary,
				"run", "-q", "--out", "inner", "--", "python3",
				"-c", "import sys, os; print(sys.times, os.environ['PYTHONPATH'].count(':'))")
			if o.code != 0 || !strings.HasPrefix(o.stdout, "1 1\n") {
				t.Errorf("code %d, stdout %q: %s", o.code, o.stdout, o.stderr)
			}
			run, err := record.Open(filepath.Join(out, "inner"))
			if err != nil || run.Meta.Versions["python"] == "" {
				t.Errorf("the inner run heard no agent: %v, %v", run, err)
			}
		})
	}
}
