package capture

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// The stubs report as PyTorch's allocators do, bound at their first call or at once, when the
// loader then makes the words read-only.
func TestWhatStaysOfPyTorchsBlocksHasTheLinesThatAskedForIt(t *testing.T) {
	t.Parallel()
	build(t)
	files, err := filepath.Abs("../agent/python/files/lib")
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs("testdata/blocks.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, binds := range []string{"lazy", "now"} {
		dir := t.TempDir()
		in := func(name string) string { return filepath.Join(dir, name) }
		tool(t, "cc", "-O2", "-shared", "-fPIC", "-DPROFILER", "-o", in("libc10.so"), "testdata/blocks.c")
		tool(t, "cc", "-O2", "-shared", "-fPIC", "-o", in("libc10_cuda.so"), "testdata/blocks.c", in("libc10.so"),
			"-Wl,-z,relro,-z,"+binds, "-Wl,-rpath,"+dir)
		for _, python := range pythons(t) {
			t.Run(binds+" "+filepath.Base(python), func(t *testing.T) {
				t.Parallel()
				libraries := "LD_LIBRARY_PATH=" + filepath.Dir(filepath.Dir(python))
				e := run(t, launch{env: []string{libraries}, args: []string{python, script, files, dir}})
				if !strings.HasSuffix(e.stdout, "\nok\n") {
					t.Fatalf("%s%s", e.stdout, e.stderr)
				}
				checkBlocks(t, e.stdout, script)
			})
		}
	}
}

func checkBlocks(t *testing.T, stdout, script string) {
	lines := strings.Split(string(readFile(t, script)), "\n")
	got := map[string]int64{}
	for line := range strings.Lines(stdout) {
		var bytes, count, at int64
		site := strings.Replace(line, script+":", "", 1)
		if n, _ := fmt.Sscanf(site, "%d %d %d", &bytes, &count, &at); n == 3 {
			_, what, _ := strings.Cut(lines[at-1], "# keeps ")
			got[what] += bytes
		}
	}
	// Of small blocks what is sampled is right by a fifth.
	wanted := map[string]int64{"small": 6000 * 6 << 10, "large": 10 * 3000 << 10, "tensors": 100 * 300 << 10}
	for what, want := range wanted {
		if got[what] < want*6/10 || got[what] > want*16/10 {
			t.Errorf("%s: %d bytes, want about %d; all: %v", what, got[what], want, got)
		}
	}
	if got[""] > 0 {
		t.Errorf("%d bytes of lines that keep nothing: %s", got[""], stdout)
	}
}

// Where the program has free at a place of its own, what calls it and what passes its address on are
// bound to different places.
func TestTensorsAreSampledInAProgramAtAFixedAddress(t *testing.T) {
	t.Parallel()
	build(t)
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	tool(t, "cc", "-O2", "-shared", "-fPIC", "-DPROFILER", "-o", in("libc10.so"), "testdata/blocks.c")
	tool(t, "cc", "-O2", "-no-pie", "-fno-pie", "-o", in("fixed"), "testdata/fixed.c", "-ldl")
	if e := run(t, launch{args: []string{in("fixed"), in("libc10.so")}}); e.stdout != "" {
		t.Skip("the linker gives free one place here: ", e.stdout)
	}
}
