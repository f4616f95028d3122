package capture

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatStaysOfPythonsHeapHasTheLinesThatAskedForIt(t *testing.T) {
	t.Parallel()
	build(t)
	files, err := filepath.Abs("../agent/python/files/lib")
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs("testdata/heap.py")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(readFile(t, script)), "\n")
	for _, python := range pythons(t) {
		t.Run(filepath.Base(python), func(t *testing.T) {
			t.Parallel()
			libraries := "LD_LIBRARY_PATH=" + filepath.Dir(filepath.Dir(python))
			e := run(t, launch{env: []string{libraries}, args: []string{python, script, files}})
			if !strings.HasSuffix(e.stdout, "\nok\n") {
				t.Fatalf("%s%s", e.stdout, e.stderr)
			}
			got := map[string]int64{}
			for line := range strings.Lines(e.stdout) {
				var bytes, count, at int64
				site := strings.Replace(line, script+":", "", 1)
				if n, _ := fmt.Sscanf(site, "%d %d %d", &bytes, &count, &at); n == 3 {
					_, what, _ := strings.Cut(lines[at-1], "# keeps ")
					got[what] += bytes
				}
			}
			// A text of 250 characters takes 300 bytes, and the dictionary of all 5 MiB; of so much what
			// is sampled is right by a seventh.
			for what, want := range map[string]int64{"small": 32 << 20, "large": 28 << 20, "grown": 16 << 20} {
				if got[what] < want*6/10 || got[what] > want*16/10 {
					t.Errorf("%s: %d bytes, want about %d; all: %v", what, got[what], want, got)
				}
			}
			if got[""] > 8<<20 { // the numbers that are keys are asked for by the loop's line
				t.Errorf("%d bytes of lines that keep nothing: %s", got[""], e.stdout)
			}
		})
	}
}

// BenchmarkHeapOfPython prints what programs of Python take more within a window, in turn.
func BenchmarkHeapOfPython(b *testing.B) {
	build(b)
	files, _ := filepath.Abs("../agent/python/files/lib")
	script, _ := filepath.Abs("testdata/heapcost.py")
	for range b.N {
		numPy := "PYTHONPATH=" + os.Getenv("GPUMEM_TEST_FRAMEWORKS")
		out, err := start(b, &launch{env: []string{numPy}, args: []string{"python3", script, files}}).CombinedOutput()
		if err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		b.Logf("%s", out)
	}
}
