package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// toolbox is the folder with the stub driver and the programs that use it.
type toolbox string

func (t toolbox) app(how string) string { return filepath.Join(string(t), "app_"+how) }
func (t toolbox) path(name string) string {
	return filepath.Join(string(t), name)
}

// driver is the folder of the driver that a program can load.
func (t toolbox) driver(app string) string {
	if app == t.app("static") {
		return t.path("static")
	}
	return string(t)
}

var built struct { // made once for all tests, taken away by TestMain
	once sync.Once
	dir  string
	err  error
}

func TestMain(m *testing.M) {
	if os.Getenv(envTempDir) != "" {
		dir, err := TempDir()
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(dir.Path)
		io.Copy(io.Discard, os.Stdin) // until we are killed
		return
	}
	if os.Getenv(envPlainAttach) != "" {
		_, err := Attach(os.Getpid())
		fmt.Println(err)
		return
	}
	code := m.Run()
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// build compiles the stub driver and the programs. Without a C compiler there
// is no driver to capture.
func build(t testing.TB) toolbox {
	t.Helper()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	if len(library) == 0 {
		t.Skip("no interposer is built for this processor")
	}
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("no C compiler (cc): the stub driver cannot be built")
	}
	built.once.Do(func() {
		built.dir, built.err = os.MkdirTemp("", "gpumem-stub-")
		if built.err == nil {
			built.err = compileAll(built.dir)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return toolbox(built.dir)
}

func compileAll(dir string) error {
	source := func(name string) string { return "testdata/" + name }
	frames := []string{"-O2", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-rdynamic"}
	shared := []string{"-O2", "-shared", "-fPIC"}
	frameless := []string{"-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls"}
	linked := []string{filepath.Join(dir, "libcuda.so.1"), "-Wl,-rpath," + dir}
	join := func(lists ...[]string) (out []string) {
		for _, l := range lists {
			out = append(out, l...)
		}
		return out
	}
	for _, c := range []struct {
		out  string
		args []string
	}{
		{"libcuda.so.1",
			join(shared, []string{"-Wl,-Bsymbolic", "-Wl,-soname,libcuda.so.1", source("libcuda.c")})},
		{"static/libcuda.so.1",
			join(shared, []string{"-DNO_TLS", "-Wl,-Bsymbolic", "-Wl,-soname,libcuda.so.1",
				source("libcuda.c")})},
		{"libamdhip64.so.6", join(shared, []string{"-Wl,-Bsymbolic", "-Wl,-soname,libamdhip64.so.6",
			"-Wl,--version-script=" + source("hip.map"), source("libamdhip64.c")})},
		{"pools", join(frameless, []string{"-g", "-pthread", source("pools.c")}, linked)},
		{"pools_hip", join(frameless, []string{"-g", "-pthread", "-DHIP", source("pools.c"),
			filepath.Join(dir, "libamdhip64.so.6"), "-Wl,-rpath," + dir})},
		{"twins_hip", join(frameless, []string{"-g", source("twins.c"),
			filepath.Join(dir, "libamdhip64.so.6"), "-Wl,-rpath," + dir})},
		{"app_plt", join(frames, []string{"-DVIA_PLT", source("app.c")}, linked, []string{"-pthread"})},
		{"app_dlsym", join(frames, []string{"-DVIA_DLSYM", source("app.c"), "-ldl", "-pthread"})},
		{"app_chain", join(frames, []string{"-DVIA_CHAIN", source("app.c"), "-ldl", "-pthread"})},
		{"app_ptsz", join(frames, []string{"-DVIA_CHAIN_PTSZ", source("app.c"), "-ldl", "-pthread"})},
		{"app_static", join(frames, []string{"-static", "-DVIA_DLSYM", source("app.c"), "-w", "-pthread"})},
		{"exec", []string{"-O2", source("exec.c")}},
		{"libcudart.so.12", join(shared, frameless, []string{"-DRUNTIME", "-Wl,-soname,libcudart.so.12",
			source("frames.c")}, linked)},
		{"frames_shared", join(frameless, []string{source("frames.c"), filepath.Join(dir, "libcudart.so.12"),
			"-Wl,-rpath," + dir})},
		{"frames_static", join(frameless, []string{"-DLINKED", source("frames.c")}, linked)},
		{"host", join(frames, []string{"-rdynamic", source("host.c"), "-ldl"})},
		{"plugin_dlsym.so", join(frames, []string{"-shared", "-fPIC", "-DPLUGIN", "-DVIA_DLSYM",
			source("app.c"), "-ldl", "-pthread"})},
		{"plugin_now.so", join(frames, []string{"-shared", "-fPIC", "-DPLUGIN", "-DVIA_PLT", "-fno-plt",
			"-Wl,-z,now", "-Wl,-z,relro", source("app.c")}, linked)},
		{"plugin.so",
			join(frames, []string{"-shared", "-fPIC", "-DPLUGIN", "-DVIA_PLT", source("app.c")}, linked)},
		{"libback.so", join(shared, []string{"-DBACK", source("sibling.c")})},
		{"libfront.so", join(shared, []string{"-DFRONT", source("sibling.c"), "-ldl"})},
		{"sibling", []string{
			"-Wl,--no-as-needed", source("sibling.c"), filepath.Join(dir, "libfront.so"),
			filepath.Join(dir, "libback.so"),
			"-Wl,-rpath," + dir, "-ldl",
		}},
		{"libcupti.so.13",
			join(shared, []string{"-DCUPTI", "-Wl,-soname,libcupti.so.13", source("profiler.c")})},
		{"profiler.so",
			join(shared, []string{source("profiler.c"), filepath.Join(dir, "libcupti.so.13"),
				"-Wl,-rpath," + dir})},
		{"other.so", join(shared, []string{"-Wl,-Bsymbolic", "-Wl,--version-script=" + source("other.map"),
			source("other.c"), "-ldl"})},
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, c.out)), 0o700); err != nil {
			return err
		}
		cmd := exec.Command("cc", append(c.args, "-o", filepath.Join(dir, c.out))...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("compile %s: %w\n%s", c.out, err, out)
		}
	}
	return nil
}

// launch is one program under capture.
type launch struct {
	mode Mode
	env  []string // beyond ours
	args []string
	dir  string // of the capture; made when empty
	code int    // that the program must end with
}

// ended is how it went.
type ended struct {
	pid            int
	dir            string
	stdout, stderr string
	reader         *Reader
}

// start makes the command with its environment.
func start(t testing.TB, l *launch) *exec.Cmd {
	t.Helper()
	tools := build(t)
	if l.dir == "" {
		l.dir = t.TempDir()
	}
	if l.mode == "" {
		l.mode = ModePreload
	}
	base := append(os.Environ(), "LD_LIBRARY_PATH="+tools.driver(l.args[0]))
	base = append(base, l.env...)
	more, err := Prepare(l.dir, l.mode, base)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(l.args[0], l.args[1:]...)
	cmd.Env = append(base, more...)
	return cmd
}

// run runs a program to its end and reads what was captured.
func run(t testing.TB, l launch) ended {
	t.Helper()
	cmd := start(t, &l)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if code != l.code {
		t.Fatalf("%v ended with %d, want %d; stderr: %s", l.args, code, l.code, &stderr)
	}
	return ended{cmd.Process.Pid, l.dir, stdout.String(), stderr.String(), follow(t, l.dir)}
}

// follow opens a capture directory and reads it once.
func follow(t testing.TB, dir string) *Reader {
	t.Helper()
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := r.Poll(); err != nil {
		t.Fatal(err)
	}
	return r
}

// cells are the columns of a process by name.
func cells(r *Reader, pid int) map[string]int64 {
	out := map[string]int64{}
	for _, c := range r.Cells(pid) {
		out[c.Column] = c.Value
	}
	return out
}

func wantCells(t *testing.T, e ended, want map[string]int64) {
	t.Helper()
	got := cells(e.reader, e.pid)
	if len(got) == 0 {
		t.Fatalf("nothing was captured: %s", e.reader.Why(e.pid, ""))
	}
	for column, v := range want {
		if g, ok := got[column]; !ok || g != v {
			t.Errorf("%s is %d (known: %v), want %d", column, g, ok, v)
		}
	}
}

func siteWith(sites []record.Site, text string) (record.Site, bool) {
	for _, s := range sites {
		if bytes.Contains([]byte(s.Site), []byte(text)) {
			return s, true
		}
	}
	return record.Site{}, false
}
