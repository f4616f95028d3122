//go:build unix

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/internal/loader/standin"
)

// installed is the wheel of this platform in a Python environment of its own.
type installed struct {
	dir   string // for what programs write
	wheel string
	bin   string // the environment's folder of programs
	tools string // a folder of packages that the tests use, empty where there is none
}

// install builds the wheel with the script and installs it with pip, offline.
func install(t *testing.T) *installed {
	t.Helper()
	in := &installed{dir: t.TempDir(), tools: os.Getenv("GPUMEM_TEST_TOOLS")}
	out := filepath.Join(in.dir, "wheels")
	said, err := exec.Command("../wheel.sh", out).CombinedOutput()
	if err != nil {
		t.Fatalf("wheel.sh: %v\n%s", err, said)
	}
	found, err := filepath.Glob(filepath.Join(out, "*.whl"))
	if err != nil || len(found) != 1 {
		t.Fatalf("wheels %q, %v", found, err)
	}
	in.wheel = found[0]
	venv := filepath.Join(in.dir, "venv")
	if said, err := exec.Command("python3", "-m", "venv", venv).CombinedOutput(); err != nil {
		t.Skipf("python3 makes no environments here (Debian: python3-venv): %v\n%s", err, said)
	}
	in.bin = filepath.Join(venv, "bin")
	in.run(t, "pip", "install", "-q", "--no-index", "--disable-pip-version-check", in.wheel)
	return in
}

// program is a command of the environment, with a clean path.
func (in *installed) program(t *testing.T, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), filepath.Join(in.bin, name), args...)
	cmd.Dir = in.dir
	cmd.Env = append(os.Environ(), "PATH="+in.bin+":"+os.Getenv("PATH"), "XDG_CACHE_HOME="+in.dir)
	if in.tools != "" {
		cmd.Env = append(cmd.Env, "PYTHONPATH="+in.tools)
	}
	return cmd
}

// run runs one that must end well, and returns what it printed.
func (in *installed) run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := in.program(t, name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// need skips a test whose Python module is not there.
func (in *installed) need(t *testing.T, module string) {
	t.Helper()
	if err := in.program(t, "python", "-c", "import "+module).Run(); err != nil {
		t.Skipf("Python has no module %s here; scripts/test.sh installs it", module)
	}
}

func (in *installed) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(in.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestAnInstalledWheelDoesWhatItPromises installs once; the parts share that.
func TestAnInstalledWheelDoesWhatItPromises(t *testing.T) {
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	in := install(t)
	for name, check := range map[string]func(*testing.T, *installed){
		"the command is the program, and so is the module": checkCommand,
		"a run reaches the verdict and the marks":          checkRun,
		"a watch judges itself":                            checkWatch,
		"uv runs it without installing":                    checkUv,
		"the other tool is noticed":                        checkNamesake,
		"pytest checks when it is asked to":                checkPytest,
		"a notebook shows the report":                      checkNotebook,
		"type checkers know its types":                     checkTypes,
	} {
		t.Run(name, func(t *testing.T) { check(t, in) })
	}
}

func checkCommand(t *testing.T, in *installed) {
	line := in.run(t, "gpumem", "version")
	if !strings.HasPrefix(line, "gpumem 0.") {
		t.Errorf("version: %q", line)
	}
	if module := in.run(t, "python", "-m", "gpumem", "version"); module != line {
		t.Errorf("python -m gpumem: %q, want %q", module, line)
	}
	where := in.run(t, "python", "-c", "import gpumem; gpumem.step(); print(gpumem.__file__)")
	if !strings.Contains(where, "site-packages") {
		t.Errorf("imported from %s", where)
	}
}

func checkRun(t *testing.T, in *installed) {
	in.write(t, "leak.py", `import time, gpumem
history = []
for step in range(160):
    history.append(bytearray(1 << 20))
    gpumem.step()
    time.sleep(0.02)
with gpumem.scope("eval"):
    gpumem.mark("seen")
with gpumem.watch("end") as w:
    pass
print(w.verdict)
`)
	in.run(t, "gpumem", "run", "-q", "--out", "run", "--", "python", "leak.py")
	text, err := os.ReadFile(filepath.Join(in.dir, "run", "verdict.json"))
	if err != nil {
		t.Fatal(err)
	}
	var v struct{ Verdict string }
	if err := json.Unmarshal(text, &v); err != nil || v.Verdict == "none" || v.Verdict == "" {
		t.Errorf("verdict %q, %v", v.Verdict, err)
	}
	events, err := os.ReadFile(filepath.Join(in.dir, "run", "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"name":"begin eval"`, `"name":"seen"`,
		`leak.py:8:1`, `"step":160`, `"name":"end end"`} {
		if !strings.Contains(string(events), want) {
			t.Errorf("no %s in the events\n%s", want, events)
		}
	}
}

func checkWatch(t *testing.T, in *installed) {
	in.write(t, "watch.py", `import os, time, gpumem
history = []
def work(keep):
    for step in range(120):
        block = bytearray(1 << 20)
        if keep:
            history.append(block)
        gpumem.step()
        time.sleep(0.02)
with gpumem.watch() as healthy:
    work(False)
with gpumem.watch(out="kept") as leaks:
    work(True)
    gpumem.mark("seen")
with gpumem.watch() as empty:
    pass
print(healthy.verdict, leaks.verdict, empty.verdict)
print(leaks.answer)
print(len(leaks.html()) > 10000, os.path.isdir(healthy.folder), sorted(os.listdir("kept")))
folder = healthy.folder
del healthy
print(os.path.exists(folder))
`)
	out := in.run(t, "python", "watch.py")
	lines := strings.Split(out, "\n")
	verdicts := strings.Fields(lines[0])
	if len(verdicts) != 3 || verdicts[0] == "app-leak" || verdicts[1] == "none" || verdicts[2] != "undecided" &&
		verdicts[2] != "none" {
		t.Errorf("verdicts %q", verdicts)
	}
	for _, want := range []string{"grow", "True True ['events.jsonl', 'run.json', 'samples.csv']\nFalse"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if said, err := in.program(t, "gpumem", "report", "kept").CombinedOutput(); err != nil ||
		strings.Contains(string(said), "warning") {
		t.Errorf("its folder is not read as a run: %v\n%s", err, said)
	}
}

func checkUv(t *testing.T, in *installed) {
	uv := filepath.Join(in.tools, "bin", "uv")
	if _, err := os.Stat(uv); in.tools == "" || err != nil {
		t.Skip("uv is not installed; scripts/test.sh does that")
	}
	cmd := exec.Command(uv, "tool", "run", "--offline", "--from", in.wheel, "gpumem", "version")
	cmd.Env = append(os.Environ(), "UV_CACHE_DIR="+filepath.Join(in.dir, "uv"), "UV_PYTHON_DOWNLOADS=never")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "gpumem 0.") {
		t.Errorf("%v\n%s", err, out)
	}
}

func checkNamesake(t *testing.T, in *installed) {
	site := strings.TrimSpace(in.run(t, "python", "-c",
		"import sysconfig; print(sysconfig.get_path('purelib'))"))
	other := filepath.Join(site, "gpumem-0.1.4.dist-info")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(other)
	if err := os.WriteFile(filepath.Join(other, "METADATA"), []byte("Name: gpumem\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out := in.run(t, "gpumem", "version"); !strings.Contains(out, "is another tool") {
		t.Errorf("printed %s", out)
	}
	// Installed last, it has the command.
	command, ours := filepath.Join(in.bin, "gpumem"), filepath.Join(in.dir, "ours")
	if err := os.Rename(command, ours); err != nil {
		t.Fatal(err)
	}
	script := "#!/usr/bin/env python3\nfrom gpumonitor.bw import main\n"
	if err := standin.WriteProgram(command, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	module := in.program(t, "python", "-m", "gpumem", "version")
	module.Env = append(module.Env, "PATH="+in.bin) // one that is installed elsewhere would do
	out, err := module.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "--force-reinstall gpumem-profiler") {
		t.Errorf("%v: %s", err, out)
	}
	if err := os.Rename(ours, command); err != nil {
		t.Fatal(err)
	}
}

func checkPytest(t *testing.T, in *installed) {
	in.need(t, "pytest")
	in.write(t, "test_memory.py", `kept = []

def test_keeps():
    kept.append(bytearray(8 << 20))

def test_keeps_and_asks(gpumem_check):
    kept.append(bytearray(8 << 20))

def test_gives_back(gpumem_check):
    bytearray(8 << 20)
`)
	arguments := []string{"-m", "pytest", "-q", "-p", "no:cacheprovider", "test_memory.py"}
	for want, cmd := range map[string]*exec.Cmd{
		"1 failed, 2 passed":  in.program(t, "python", arguments...),
		"2 failed, 1 passed":  in.program(t, "python", append(arguments, "--gpumem")...),
		"2 failed, 1 passed ": in.program(t, "gpumem", append([]string{"pytest", "--"}, arguments[2:]...)...),
	} {
		out, _ := cmd.CombinedOutput() // pytest's code says that tests failed, which is what is wanted
		if !strings.Contains(string(out), strings.TrimSpace(want)) {
			t.Errorf("%q: no %q in\n%s", cmd.Args, want, out)
		}
	}
}

func checkNotebook(t *testing.T, in *installed) {
	in.need(t, "jupyter_client, ipykernel")
	script, err := filepath.Abs(filepath.Join("testdata", "notebook.py"))
	if err != nil {
		t.Fatal(err)
	}
	if out := in.run(t, "python", script); !strings.HasSuffix(out, "fine\n") {
		t.Error(out)
	}
}

func checkTypes(t *testing.T, in *installed) {
	in.need(t, "mypy")
	in.write(t, "typed.py", `import gpumem

@gpumem.check
def plain(n: int) -> str:
    return str(n)

@gpumem.check(tolerance="2MiB", confirm=2)
def tuned(n: int) -> str:
    return str(n)

with gpumem.watch("name", interval=0.1) as w, gpumem.scope("eval"):
    gpumem.step()
    gpumem.mark("here")
verdict: str = w.verdict
text: str = plain(1) + tuned(2)
wrong: int = plain(1)
`)
	mypy := in.program(t, "python", "-m", "mypy", "--strict", "--no-incremental", "typed.py")
	out, err := mypy.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "typed.py:16: error") ||
		!strings.Contains(string(out), "Found 1 error ") {
		t.Errorf("only line 16 is wrong: %v\n%s", err, out)
	}
}
