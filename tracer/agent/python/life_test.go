//go:build !windows

package python_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/agent/python"
)

// clean fails the test unless a program ended well and said nothing on stderr.
func clean(t *testing.T, o *outcome) {
	t.Helper()
	if o.code != 0 || o.stderr != "" {
		t.Fatalf("exit code %d, stderr %q", o.code, o.stderr)
	}
}

func TestTheProgramRunsAsWithoutUs(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{
		"what it can see of its interpreter": {"-W", "always", "-X", "dev", "unseen.py"},
		"its exception and exit code":        {"failing.py"},
		"isolated": {"-I", "-c",
			"import sys; print(sys.flags.isolated); sys.exit(9)"},
		"without environment":     {"-E", "-c", "print(1)"},
		"without site":            {"-S", "-c", "print(1)"},
		"its exit code":           {"-c", "import sys; sys.exit(7)"},
		"its end by signal":       {"-c", "import os; os.kill(os.getpid(), 15)"},
		"its end without goodbye": {"-c", "import os; os._exit(4)"},
		"next to nothing":         {"-c", "pass"},
	}
	for name, args := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			with, without := run(t, traced{args: args}), run(t, traced{args: args, without: true})
			if with.code != without.code || with.stdout != without.stdout || with.stderr != without.stderr {
				t.Errorf("with the agent:\n%d %q %q\nwithout:\n%d %q %q", with.code, with.stdout,
					with.stderr, without.code, without.stdout, without.stderr)
			}
		})
	}
}

func TestHelloComesFirstAndNamesTheProcess(t *testing.T) {
	t.Parallel()
	o := run(t, traced{args: []string{"-c", "pass"}, env: []string{"RANK=3"}})
	clean(t, o)
	p := o.main(t)
	if h := p.hellos[0]; h.V != 1 || h.PID != o.pid || h.Agent != "python" || len(h.Actions) != 6 ||
		h.Rank == nil || *h.Rank != 3 || h.Name != "" {
		t.Errorf("hello %+v", h)
	}
	if !strings.HasPrefix(p.hellos[0].Versions["python"], "3.") {
		t.Errorf("versions %v", p.hellos[0].Versions)
	}
	if got := p.names("phase"); len(got) != 1 || got[0] != "exiting" {
		t.Errorf("phases %v, want exiting", got)
	}
}

func TestAForkedChildReportsAsItself(t *testing.T) {
	t.Parallel()
	o := run(t, traced{args: []string{"-W", "always", "fork.py"}})
	clean(t, o)
	if o.main(t); o.stdout != "5\n" || len(o.tracer.procs) != 2 {
		t.Fatalf("stdout %q, %d processes", o.stdout, len(o.tracer.procs))
	}
	for pid, p := range o.tracer.procs {
		want := int64(9)
		if pid != o.pid {
			want = 8 // its own steps, not its parent's
		}
		if p.hellos[0].PID != pid || p.last(t, "step") > want || p.last(t, "step") < want-1 {
			t.Errorf("process %d (main %d): hello of %d, step %d, want %d",
				pid, o.pid, p.hellos[0].PID, p.last(t, "step"), want)
		}
	}
}

func TestAChildForkedDuringALookTakesTurnsAsBefore(t *testing.T) {
	t.Parallel()
	o := run(t, traced{args: []string{"fork_in_look.py"}})
	clean(t, o)
	if o.stdout != "0 True\n" {
		t.Errorf("%q: the thread switch interval of a look stayed", o.stdout)
	}
}

func TestAThousandForksAreNoBurden(t *testing.T) {
	t.Parallel()
	o := run(t, traced{args: []string{"-W", "always", "forks.py"}})
	clean(t, o)
	if o.stdout != "1000 logging\n" {
		t.Errorf("%q", o.stdout)
	}
	if p := o.main(t); len(p.samples) < 2 { // the host heap, after the forks
		t.Errorf("%d samples: the sampling did not go on", len(p.samples))
	}
}

func TestASpawnedChildReportsAsItself(t *testing.T) {
	t.Parallel()
	o := run(t, traced{args: []string{"spawn.py"}})
	clean(t, o)
	o.main(t)
	marks, called := 0, ""
	for pid, p := range o.tracer.procs {
		if h := p.hellos[len(p.hellos)-1]; pid != o.pid && h.Name != "" && h.Rank != nil && *h.Rank == 7 {
			called += h.Name
		}
		for _, m := range p.marks {
			if m.Name == "working" && pid != o.pid && strings.Contains(m.At, "spawn.py:") {
				marks++
			}
		}
	}
	// Neither is known when the child connects: the program tells both later.
	if o.stdout != "done\n" || marks != 1 || called != "SpawnProcess-1" {
		t.Errorf("stdout %q, %d marks of the child, called %q", o.stdout, marks, called)
	}
}

func TestNothingIsWrittenToDescriptorsOfTheProgram(t *testing.T) {
	t.Parallel()
	o := run(t, traced{args: []string{"closeall.py"}})
	clean(t, o)
	if o.stdout != "clean\n" {
		t.Errorf("%q", o.stdout)
	}
}

func TestAJailedProgramRunsOnAndKeepsReporting(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root may chroot and drop its privileges")
	}
	o := run(t, traced{args: []string{"jail.py"}, ask: []string{"collect"}})
	clean(t, o)
	if got := o.main(t).last(t, "step"); o.stdout != "0\n" || got != 10 {
		t.Errorf("stdout %q, step %d", o.stdout, got)
	}
}

func TestExceptionsOfSignalHandlersReachTheProgram(t *testing.T) {
	t.Parallel()
	o := run(t, traced{args: []string{"alarm.py"}})
	clean(t, o)
	if o.stdout != "True\n" {
		t.Errorf("%q", o.stdout)
	}
}

func TestATracerThatIsGoneIsNoTrouble(t *testing.T) {
	t.Parallel()
	gone := filepath.Join(t.TempDir(), "gone.sock")
	for _, env := range []string{"GPUMEM_AGENT=" + gone, "GPUMEM_AGENT=", "GPUMEM_INTERVAL_MS=x"} {
		o := run(t, traced{args: []string{"train.py"}, env: []string{env, "GPUMEM_HOLD=1"}})
		clean(t, o)
		if o.stdout != "__main__\n" {
			t.Errorf("%s: %q", env, o.stdout)
		}
	}
}

// dropFile writes a file into a new folder and returns the folder.
func dropFile(t *testing.T, name, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestTheUsersSitecustomizeRunsUnderItsOwnName(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"that works": "import sys, os\nsys.users_own = (__name__, os.path.basename(__file__))\n",
		"that fails": "raise ValueError('the users own')\n",
	}
	show := "import sys; print(getattr(sys, 'users_own', None));" +
		"m = sys.modules.get('sitecustomize'); print(m is not None and hasattr(m, 'os'))"
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := dropFile(t, "sitecustomize.py", text)
			how := traced{args: []string{"-c", show}, path: []string{dir}}
			with := run(t, how)
			how.env = []string{"PYTHONPATH=" + dir}
			how.without = true
			without := run(t, how)
			if with.code != without.code || with.stdout != without.stdout || with.stderr != without.stderr {
				t.Errorf("with the agent:\n%d %q %q\nwithout:\n%d %q %q", with.code, with.stdout,
					with.stderr, without.code, without.stdout, without.stderr)
			}
			with.main(t) // and the agent runs all the same
		})
	}
}

func TestAModuleOfTheProgramHidesOursAndNeverTheOtherWay(t *testing.T) {
	t.Parallel()
	dir := dropFile(t, "gpumem.py", "name = 'the program\\'s own'\n")
	o := run(t, traced{args: []string{"-c", "import gpumem; print(gpumem.name)"}, path: []string{dir}})
	clean(t, o)
	if o.stdout != "the program's own\n" {
		t.Errorf("%q", o.stdout)
	}
}

func TestATamperedFileIsNoAgentAndNoTrouble(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"syntax":    "def",
		"exception": "raise RuntimeError",
		"exit":      "raise SystemExit(3)",
		"nothing":   "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "agent")
			if _, err := python.Install(dir); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, "lib", "gpumem_agent", "process.py")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			o := run(t, traced{args: []string{"-c", "print(1)"}, env: []string{"PYTHONPATH=" + dir}})
			clean(t, o)
			if o.stdout != "1\n" || len(o.tracer.procs) != 0 {
				t.Errorf("stdout %q, %d processes", o.stdout, len(o.tracer.procs))
			}
		})
	}
}

func TestATamperedFileThatIsImportedLateEndsNoProgram(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"frameworks/torch.py", "frameworks/torch_graphs.py", "figures.py", "hostheap.py",
		"holders/__init__.py",
		"holders/register.py", "holders/living.py", "holders/graphs.py", "holders/running.py",
		"holders/ending.py", "actions.py", "requests.py", "sites.py",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "agent")
			if _, err := python.Install(dir); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, "lib", "gpumem_agent", filepath.FromSlash(name))
			if err := os.WriteFile(file, []byte("raise SystemExit(3)\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			o := run(t, traced{args: []string{"train.py"}, ask: []string{"purge", "sites", "holders"},
				env: []string{"PYTHONPATH=" + dir + ":" + fakes(t), python.EnvSites + "=1"}})
			clean(t, o)
			if o.stdout != "__main__\n" {
				t.Errorf("stdout %q", o.stdout)
			}
		})
	}
}

func TestOldInterpretersRunAsWithoutUs(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the source is checked on Linux, for all systems")
	}
	// Python 2 cannot be expected here; what it would refuse is looked for.
	text, err := os.ReadFile(filepath.Join("files", "sitecustomize.py"))
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"f\"", "f'", ":=", "nonlocal", "raise from", "async ", " from None", "->"} {
		if strings.Contains(string(text), bad) {
			t.Errorf("sitecustomize.py has %q, which an old Python does not parse", bad)
		}
	}
	for _, r := range string(text) {
		if r > 127 {
			t.Errorf("sitecustomize.py has %q: without a coding line Python 2 reads ASCII only", r)
		}
	}
}
