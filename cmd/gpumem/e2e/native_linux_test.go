package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// nativePrograms makes the programs of the tests below: planted faults in C++, Rust,
// Go and Python, which call stand-ins for the driver and for HIP's runtime.
func nativePrograms(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	dir := t.TempDir()
	source := func(name string) string {
		path, err := filepath.Abs(filepath.Join("..", "..", "..", "tracer", "capture", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	cuda, hip := filepath.Join(dir, "libcuda.so.1"), filepath.Join(dir, "libamdhip64.so.6")
	ggml := filepath.Join(dir, "libggml-cuda.so")
	shared := []string{"cc", "-O2", "-shared", "-fPIC", "-Wl,-Bsymbolic", "-o"}
	for _, command := range [][]string{
		append(shared, cuda, "-Wl,-soname,libcuda.so.1", source("libcuda.c")),
		append(shared, hip, "-Wl,-soname,libamdhip64.so.6", "-Wl,--version-script="+source("hip.map"),
			source("libamdhip64.c")),
		append(shared, ggml, "-Wl,-soname,libggml-cuda.so", source("ggml.c"), cuda),
		{"g++", "-O2", "-Wall", "-Wextra", "-Werror", "-o", filepath.Join(dir, "engine"), source("engine.cc"), ggml,
			cuda},
		{"g++", "-O2", "-Wall", "-Wextra", "-Werror", "-o", filepath.Join(dir, "cc"), source("fault.cc"), cuda},
		{"g++", "-O2", "-DHIP", "-o", filepath.Join(dir, "hip"), source("fault.cc"), hip},
		{"rustc", "-O", "-o", filepath.Join(dir, "rust"), source("fault.rs"), "-C", "link-arg=" + cuda},
		{"go", "build", "-o", filepath.Join(dir, "go"), source("fault_go/main.go")},
		{"install", source("fault.py"), filepath.Join(dir, "python")},
		{"gcc", "-std=c99", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-o", filepath.Join(dir, "arena"),
			filepath.Join("..", "..", "..", "tracer", "agent", "c", "example", "arena.c")},
		{"g++", "-x", "c++", "-std=c++11", "-O2", "-Wall", "-Wextra", "-Werror", "-o",
			filepath.Join(dir, "arena_cc"), filepath.Join("..", "..", "..", "tracer", "agent", "c", "example",
				"arena.c")},
	} {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", command, err, out)
		}
	}
	return dir
}

func TestNativeProgramsHaveTheirVerdictAndTheSiteOfTheirFault(t *testing.T) {
	t.Parallel()
	dir := nativePrograms(t)
	cases := []struct{ command, verdict, cause, site string }{
		{"cc kept", "app-leak", "", "cache::remember"}, {"cc kept healthy", "none", "", ""},
		{"cc lost", "app-leak", "", "cache::forget_one"}, {"cc lost healthy", "none", "", ""},
		{"cc retained", "pool-growth", "driver-pool-keeps", ""}, {"cc retained healthy", "none", "", ""},
		{"cc physical", "app-leak", "", "cache::create_physical"}, {"cc physical healthy", "none", "", ""},
		{"hip kept", "app-leak", "", "cache::remember"}, {"hip kept healthy", "none", "", ""},
		{"hip retained", "pool-growth", "driver-pool-keeps", ""}, {"hip retained healthy", "none", "", ""},
		{"rust kept", "app-leak", "", "cache::Cache::remember"}, {"rust kept healthy", "none", "", ""},
		{"engine kept", "app-leak", "", "engine::open_context"}, {"engine kept healthy", "none", "", ""},
		{"go kept", "app-leak", "", "main.remember"}, {"go kept healthy", "none", "", ""},
		{"python kept", "app-leak", "", "/python:35 remember"}, {"python kept healthy", "none", "", ""},
		{"arena keeps 1500", "pool-growth", "", ""}, {"arena leaks 1500", "app-leak", "", ""},
		{"arena sound 1500", "none", "", ""}, {"arena_cc leaks 1500", "app-leak", "", ""},
	}
	runs := make([]nativeRun, len(cases))
	for i, c := range cases {
		runs[i] = nativeRun{at: t.TempDir(), command: c.command}
	}
	runNative(dir, runs)
	for i, c := range cases {
		t.Run(c.command, func(t *testing.T) {
			r := runs[i]
			if r.err != nil {
				t.Fatalf("%v: %s", r.err, r.out)
			}
			v := readVerdict(t, filepath.Join(r.at, "run"))
			if isUndecided(v) {
				t.Logf("once more, alone: %s", v.Summary)
				r = nativeRun{at: t.TempDir(), command: c.command}
				if r.run(dir); r.err != nil {
					t.Fatalf("%v: %s", r.err, r.out)
				}
				v = readVerdict(t, filepath.Join(r.at, "run"))
			}
			if string(v.Verdict) != c.verdict {
				t.Errorf("%s: %s", v.Verdict, v.Summary)
			}
			if c.cause != "" && (len(v.Causes) == 0 || v.Causes[0].ID != c.cause) {
				t.Errorf("causes %+v", v.Causes)
			}
			if c.command == "python kept" && looksIn(t, r.at) < 3 {
				t.Error("no look tells what the places held while it ran")
			}
			// The weights hold more, and do not grow.
			if c.command == "python kept" && !strings.Contains(v.Answer, "/python:35 in remember") {
				t.Errorf("answer: %s", v.Answer)
			}
			for i, s := range v.Sites {
				if i < 2 && strings.Contains(s.Site, c.site) {
					return
				}
			}
			if c.site != "" {
				t.Errorf("no site %s in %+v", c.site, v.Sites)
			}
		})
	}
}

// looksIn is how many looks of a run tell what places had asked the driver for by then.
func looksIn(t *testing.T, dir string) int {
	t.Helper()
	run, err := record.Open(filepath.Join(dir, "run"))
	if err != nil {
		t.Fatal(err)
	}
	return len(slices.DeleteFunc(run.Events, func(e record.Event) bool {
		return e.Kind != record.KindDriverSites || e.Name != record.NameLook || len(e.Sites) == 0
	}))
}

// nativeRun is a native program under gpumem run.
type nativeRun struct {
	at      string // the folder it runs in
	command string
	out     []byte
	err     error
}

// run runs it out of the folder that nativePrograms made.
func (r *nativeRun) run(dir string) {
	words := strings.Fields(r.command)
	words[0] = filepath.Join(dir, words[0])
	cmd := exec.Command(binary, append([]string{"run", "-q", "--purge", "--out", "run", "--"}, words...)...)
	cmd.Dir, cmd.Env = r.at, append(os.Environ(), "LD_LIBRARY_PATH="+dir)
	r.out, r.err = cmd.CombinedOutput()
}

// runNative runs native programs, several at once: they sleep most of the time, and
// subtests that run in parallel are as many as there are processors.
func runNative(dir string, runs []nativeRun) {
	const atOnce = 8
	var all sync.WaitGroup
	places := make(chan struct{}, atOnce)
	for i := range runs {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			runs[i].run(dir)
		})
	}
	all.Wait()
}
