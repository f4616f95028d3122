//go:build !windows

package python_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gpumem/gpumem/tracer/agent"
	"github.com/gpumem/gpumem/tracer/agent/python"
	"github.com/gpumem/gpumem/tracer/record"
)

func TestCallsForProcessesOfOneThreadWork(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("namespaces are Linux's")
	}
	lib, err := filepath.Abs(filepath.Join("files", "lib")) // the program imports gpumem
	if err != nil {
		t.Fatal(err)
	}
	how := traced{args: []string{"namespaces.py"}}
	with := run(t, how)
	how.without, how.env = true, []string{"PYTHONPATH=" + lib}
	without := run(t, how)
	if with.code != without.code || with.stdout != without.stdout || with.stderr != without.stderr {
		t.Errorf("with the agent:\n%d %q %q\nwithout:\n%d %q %q", with.code, with.stdout,
			with.stderr, without.code, without.stdout, without.stderr)
	}
	if step := with.main(t).last(t, "step"); step != 1 {
		t.Errorf("step %d: the sampling did not go on", step)
	}
}

func TestAgentsInsideAgentsRunTheUsersSitecustomizeOnce(t *testing.T) {
	t.Parallel()
	outer := filepath.Join(t.TempDir(), "outer")
	if _, err := python.Install(outer); err != nil {
		t.Fatal(err)
	}
	dir := dropFile(t, "sitecustomize.py", "import sys\nsys.times = getattr(sys, 'times', 0) + 1\n")
	show := "import sys, sitecustomize; print(sys.times, sitecustomize.__file__)"
	for name, path := range map[string][]string{
		"behind the other": {outer, dir},
		"alone":            {dir},
		"twice":            {outer, dir, outer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := run(t, traced{args: []string{"-c", show}, path: path})
			clean(t, o)
			if want := "1 " + filepath.Join(dir, "sitecustomize.py") + "\n"; o.stdout != want {
				t.Errorf("%q, want %q", o.stdout, want)
			}
			o.main(t)
		})
	}
}

func TestTheProgramsPathHasNoFolderThatItDidNotAskFor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := run(t,
		traced{args: []string{"-c",
			"import sys; print([p for p in sys.path if '/agent' in p and 'fakes' not in p])"}, path: []string{dir}})
	clean(t, o)
	if strings.Count(o.stdout, "'") != 2 || !strings.Contains(o.stdout, "/lib'") {
		t.Errorf("%q, want the library's folder alone", o.stdout)
	}
}

func TestFunctionsThatAProgramReplacesAreNotMissed(t *testing.T) {
	t.Parallel()
	const mocked = `
import os, sys, time
time.monotonic = time.sleep_ = time.perf_counter = time.thread_time = None
time.clock_gettime_ns = os.getpid = os.fstat = os.stat = None
sleep, time.sleep = time.sleep, None
import gpumem
for _ in range(10):
    gpumem.step()
    sleep(.05)
`
	o := run(t, traced{args: []string{"-c", mocked}, ask: []string{"collect"}})
	clean(t, o)
	p := o.main(t)
	if p.last(t, "step") != 10 || len(p.names("warning")) != 0 {
		t.Errorf("step %d, warnings %v", p.last(t, "step"), p.names("warning"))
	}
}

func TestTheAgentsThreadPrintsNothingWhenItFails(t *testing.T) {
	t.Parallel()
	const broken = `
import time, gpumem_agent
def fail(*_): raise KeyboardInterrupt("the agent's own")
gpumem_agent.agent().sampler._tick = fail
gpumem_agent.agent().sampler.poke()
time.sleep(.3)
print("end")
`
	o := run(t, traced{args: []string{"-c", broken}})
	clean(t, o)
	if o.stdout != "end\n" {
		t.Errorf("%q", o.stdout)
	}
}

func TestAnEndThatNobodyAnswersIsHeldForSeconds(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	o := run(t, traced{args: []string{"-c", "import time; time.sleep(.3)"},
		env: []string{agent.EnvHold + "=1"}, mute: true})
	clean(t, o)
	if took := time.Since(begun); took > 30*time.Second { // it was a minute
		t.Errorf("the program took %v", took)
	}
	if names := o.main(t).names("phase"); len(names) != 1 || names[0] != agent.PhaseExiting {
		t.Errorf("phases %v", names)
	}
}

func TestATracerThatIsSlowButHeardIsWaitedFor(t *testing.T) {
	t.Parallel()
	o := run(t, traced{args: []string{"-c", "pass"}, ask: []string{"collect"}, slow: 4 * time.Second})
	clean(t, o)
	if p := o.main(t); len(p.dones) != 1 || p.dones[0].Count == nil {
		t.Errorf("answers %+v, want one to collect", p.dones)
	}
}

func TestAReleaseAtTheEndImportsNothingOfTheProgramsLibrary(t *testing.T) {
	t.Parallel()
	const show = `
import sys
class Seen:
    def find_spec(self, name, path=None, target=None):
        if not name.startswith("gpumem_agent"): print(name)
sys.meta_path.insert(0, Seen())
`
	o := run(t, traced{args: []string{"-c", show}, env: []string{agent.EnvHold + "=1"}})
	clean(t, o)
	if o.stdout != "" {
		t.Errorf("at its end the program imported %q", o.stdout)
	}
}

func TestWhatIsCompiledOfTheAgentStaysAlsoWhereTheProgramsIsNot(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "agent")
	if _, err := python.Install(dir); err != nil {
		t.Fatal(err)
	}
	program := dropFile(t, "other.py", "import sys\nprint(sys.dont_write_bytecode)\n")
	path := strings.Join([]string{dir, program}, ":")
	o := run(t, traced{args: []string{"-c", "import other"},
		env: []string{"PYTHONPATH=" + path, "PYTHONDONTWRITEBYTECODE=1"}})
	clean(t, o)
	if o.stdout != "True\n" {
		t.Errorf("sys.dont_write_bytecode is %q", o.stdout)
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "lib", "gpumem_agent", "__pycache__",
		"*")); len(found) == 0 {
		t.Error("nothing was kept")
	}
	if _, err := os.Stat(filepath.Join(program, "__pycache__")); err == nil {
		t.Error("what the program imports was kept, too")
	}
}

func TestNothingIsImportedThroughTheProgramsFindersAfterTheStart(t *testing.T) {
	t.Parallel()
	const show = `
import select, sys
seen = []
class Finder:
    def find_spec(self, name, path=None, target=None): seen.append(name)
sys.meta_path.insert(0, Finder())
select.select([], [], [], 2)  # the host heap is read after a second
print(seen)
`
	o := run(t, traced{args: []string{"-c", show}})
	clean(t, o)
	if o.stdout != "[]\n" {
		t.Errorf("the program's finder saw %q", o.stdout)
	}
	o.main(t).last(t, record.ColHostHeap)
}

func TestTheAgentLeavesNoGarbage(t *testing.T) {
	t.Parallel()
	user := dropFile(t, "sitecustomize.py", "") // takes the place of the agent's
	const show = `
import gc, time
gc.set_debug(gc.DEBUG_SAVEALL)
gc.collect(); time.sleep(.3); gc.collect()
print([type(o).__name__ for o in gc.garbage])
gc.set_debug(0)
`
	o := run(t, traced{args: []string{"-c", show}, path: []string{user}})
	clean(t, o)
	if o.stdout != "[]\n" {
		t.Errorf("garbage: %q", o.stdout)
	}
}

func TestAFolderForCompiledModulesGetsNoneOfTheAgentsPackage(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	o := run(t, traced{
		args: []string{"-c", "import sys; print(sys.pycache_prefix)"},
		env:  []string{"PYTHONPYCACHEPREFIX=" + cache, "PYTHONDONTWRITEBYTECODE="},
	})
	clean(t, o)
	if o.stdout != cache+"\n" {
		t.Errorf("sys.pycache_prefix is %q", o.stdout)
	}
	err := filepath.WalkDir(cache, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "gpumem_agent" {
			t.Errorf("compiled there: %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
