package capture

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/internal/loader/standin"
	"github.com/gpumem/gpumem/tracer/record"
)

// basicCells is what the scenario basic of testdata/app.c leaves behind.
var basicCells = map[string]int64{
	record.ColDriverAllocBytes:   5<<20 + 4*1024 + 8192 + 16384 + 64*64*4 + 2<<20,
	record.ColDriverAllocCount:   7,
	record.ColDriverManagedBytes: 8192, record.ColDriverAsyncBytes: 16384, record.ColDriverVMMBytes: 2 << 20,
	record.ColDriverArrayBytes: 64 * 64 * 4,
	record.ColPinnedBytes:      4096, record.ColPinnedCount: 1, record.ColRegisteredBytes: 12288,
	record.ColEvents: 2, record.ColStreams: 1, record.ColGraphs: 1, record.ColModules: 2,
	record.ColContexts:     1,
	record.ColDriverAllocs: 15, record.ColDriverFrees: 6, record.ColDriverFailed: 0, record.ColCaptureLost: 0,
}

func TestEveryLoadingProtocolIsCapturedWhole(t *testing.T) {
	t.Parallel()
	tools := build(t)
	for _, c := range []struct {
		name string
		args []string
		env  []string
		only Mode // empty: both
	}{
		{name: "PLT", args: []string{tools.app("plt"), "basic"}},
		{name: "dlopen and dlsym", args: []string{tools.app("dlsym"), "basic"}},
		{name: "cuGetProcAddress chain", args: []string{tools.app("chain"), "basic"}},
		{name: "per-thread streams", args: []string{tools.app("ptsz"), "basic"}},
		{name: "addresses that are not exported", args: []string{tools.app("chain"), "basic"},
			env: []string{"STUB_INDIRECT=1"}},
		{name: "plugin", args: []string{tools.path("host"), tools.path("plugin.so"), "plain", "basic"}},
		{name: "deep-bound plugin", args: []string{tools.path("host"), tools.path("plugin.so"), "deep", "basic"}},
		{name: "deep-bound plugin that is bound at its calls", args: []string{tools.path("host"),
			tools.path("plugin.so"), "lazy", "basic"}},
		{name: "deep-bound plugin that looks functions up", args: []string{tools.path("host"),
			tools.path("plugin_dlsym.so"), "deep", "basic"}},
		{name: "deep-bound plugin whose bindings are read only", args: []string{tools.path("host"),
			tools.path("plugin_now.so"), "deep", "basic"}, only: ModePreload},
	} {
		for _, mode := range []Mode{ModePreload, ModeAudit} {
			if c.only != "" && c.only != mode {
				continue
			}
			t.Run(c.name+"/"+string(mode), func(t *testing.T) {
				t.Parallel()
				e := run(t, launch{mode: mode, env: c.env, args: c.args})
				wantCells(t, e, basicCells)
				if w := e.reader.Warnings(e.pid); len(w) > 0 {
					t.Errorf("warnings: %q", w)
				}
				if why := e.reader.Why(e.pid, c.args[0]); why != "" {
					t.Errorf("a captured process is explained away: %s", why)
				}
			})
		}
	}
}

func TestPythonThroughCtypesIsCaptured(t *testing.T) {
	t.Parallel()
	build(t)
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 here")
	}
	const script = `
import ctypes as c
l = c.CDLL("libcuda.so.1")
p, q, s = c.c_uint64(), c.c_void_p(), c.c_int()
assert l.cuInit(0) == 0
assert l.cuMemAlloc_v2(c.byref(p), c.c_size_t(1 << 20)) == 0
assert l.cuGetProcAddress_v2(b"cuMemAlloc", c.byref(q), 12000, c.c_uint64(0), c.byref(s)) == 0
assert c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_size_t)(q.value)(c.addressof(p), 4096) == 0
try:
    l.cuNoSuchFunction
    assert False
except AttributeError:
    pass
`
	for _, mode := range []Mode{ModePreload, ModeAudit} {
		e := run(t, launch{mode: mode, args: []string{python, "-c", script}})
		wantCells(t, e, map[string]int64{record.ColDriverAllocBytes: 1<<20 + 4096, record.ColDriverAllocs: 2,
			record.ColDriverFrees: 0})
	}
}

func TestWhyNamesTheReasonWhenNothingWasCaptured(t *testing.T) {
	t.Parallel()
	tools := build(t)
	script := filepath.Join(t.TempDir(), "script")
	if err := standin.WriteProgram(script, []byte("#!"+tools.app("static")+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, want string
		l          launch
	}{
		{"static", "statically linked", launch{args: []string{tools.app("static"), "nothing"}}},
		{"script for a static interpreter", "statically linked",
			launch{args: []string{script, "nothing"}, code: 1}},
		{"not CUDA", "not a CUDA program", launch{args: []string{"/bin/true"}}},
		{"deep-bound", "RTLD_DEEPBIND",
			launch{args: []string{tools.path("host"), tools.path("plugin.so"), "told", "basic"}}},
		{"loaded and unused", "allocated nothing", launch{args: []string{tools.app("plt"), "nothing"}}},
		{"environment dropped", "dropped on the way",
			launch{args: []string{"/usr/bin/env", "-i", tools.app("plt"), "nothing"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := run(t, c.l)
			pid, exe := e.pid, c.l.args[0]
			if c.name == "environment dropped" {
				pid, exe = 1<<22+1, tools.app("plt") // no process has this number
			}
			if past := e.reader.Past(); len(past) > 0 != (c.name == "deep-bound") {
				t.Errorf("calls pass by in %v", past)
			}
			why := e.reader.Why(pid, exe)
			if !strings.Contains(why, c.want) {
				t.Errorf("the reason given is %q, want it to say %q", why, c.want)
			}
			if got := e.reader.Cells(e.pid); got != nil {
				t.Errorf("cells of a process of which nothing is known: %v", got)
			}
		})
	}
}

func TestEveryLookupOfTheRuntimeIsAnsweredWithAWrapper(t *testing.T) {
	t.Parallel()
	tools := build(t)
	for _, env := range [][]string{nil, {"STUB_INDIRECT=1"}} {
		run(t, launch{env: env, args: []string{tools.app("dlsym"), "lookups"}})
	}
}

// NVIDIA's runtime goes through its lookups and initialises the driver; then it
// wants tables of the driver that no stub has, and reports an insufficient
// driver (35). So much of it runs everywhere; the rest needs the real driver.
func TestTheRealRuntimeReachesTheDriverThroughTheInterposer(t *testing.T) {
	t.Parallel()
	build(t)
	cudart := fetchCudart(t)
	const script = `
import ctypes as c, sys
l = c.CDLL(sys.argv[1])
p = c.c_void_p()
rc = l.cudaMalloc(c.byref(p), c.c_size_t(1 << 20))
assert rc == 35, rc
`
	for _, mode := range []Mode{ModePreload, ModeAudit} {
		e := run(t, launch{mode: mode, env: []string{"STUB_GENERIC=1"},
			args: []string{"python3", "-c", script, cudart}})
		wantCells(t, e, map[string]int64{record.ColDriverAllocs: 0, record.ColCaptureLost: 0})
		if n := e.reader.procs[e.pid].counts()[kindInit]; n != 1 {
			t.Errorf("%s: the runtime called cuInit through the interposer %d times, want once", mode, n)
		}
	}
}

// fetchCudart gets NVIDIA's runtime (3.4 MB) as Python's package installer
// does, by name, into a folder of the test.
func fetchCudart(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	out, err := exec.Command("python3", "-m", "pip", "install", "--quiet", "--no-deps", "--no-input",
		"--disable-pip-version-check",
		"--only-binary=:all:", "--target", dir, "nvidia-cuda-runtime-cu12==12.9.79").CombinedOutput()
	if err != nil {
		t.Skipf("NVIDIA's runtime cannot be had here, so it is not tested against: %v: %s",
			err, lastOf(string(out)))
	}
	found, _ := filepath.Glob(filepath.Join(dir, "nvidia", "cuda_runtime", "lib", "libcudart.so.12"))
	if len(found) != 1 {
		t.Fatalf("no libcudart.so.12 in the package: %v", found)
	}
	return found[0]
}
