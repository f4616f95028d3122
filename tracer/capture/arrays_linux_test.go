package capture

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatStaysOfNumPysDataHasTheLinesThatAskedForIt(t *testing.T) {
	t.Parallel()
	build(t)
	files, err := filepath.Abs("../agent/python/files/lib")
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs("testdata/arrays.py")
	if err != nil {
		t.Fatal(err)
	}
	for name, how := range numPys(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := run(t, launch{env: []string{"PYTHONPATH=" + how.path}, args: []string{how.python, script, files}})
			if !strings.HasSuffix(e.stdout, "\nok\n") {
				t.Fatalf("%s%s", e.stdout, e.stderr)
			}
			checkArrays(t, e.stdout, script)
		})
	}
}

// checkArrays compares what the script was told of its lines with what they keep.
func checkArrays(t *testing.T, stdout, script string) {
	t.Helper()
	lines := strings.Split(string(readFile(t, script)), "\n")
	got, data := map[string]int64{}, map[string]int64{}
	for line := range strings.Lines(stdout) {
		var bytes, arrays, at int64
		site := strings.Replace(line, script+":", "", 1)
		if n, _ := fmt.Sscanf(site, "%d %d %d", &bytes, &arrays, &at); n == 3 {
			_, what, _ := strings.Cut(lines[at-1], "# keeps ")
			got[what] += bytes
			data[what] += arrays
		}
	}
	for what, want := range map[string]int64{
		"large": 51_200_000, "small": 57_600_000, "zeros": 32_000_000, "grown": 16 << 20, "threads": 32_000_000,
	} {
		if data[what] < want*6/10 || data[what] > want*16/10 {
			t.Errorf("%s: %d bytes of data, want about %d; all: %v of %v", what, data[what], want, data, got)
		}
	}
	if got["small"]-data["small"] < 1<<20 { // the array objects themselves are Python's, 112 bytes or more each
		t.Errorf("small: %d bytes, of which %d are data", got["small"], data["small"])
	}
	if data[""] > 4<<20 {
		t.Errorf("%d bytes of lines that keep nothing: %s", data[""], stdout)
	}
}

// withNumPy is an interpreter, and the folder of its NumPy where that is not its own.
type withNumPy struct{ python, path string }

// numPys are those of this machine: the system's, and those that scripts/test.sh installs.
func numPys(t *testing.T) map[string]withNumPy {
	t.Helper()
	out := map[string]withNumPy{}
	system := os.Getenv("GPUMEM_TEST_TORCH")
	if system == "" {
		system = "/usr/bin/python3"
	}
	for name, how := range map[string]withNumPy{
		"system": {python: system},
		"models": {python: system, path: os.Getenv("GPUMEM_TEST_MODELS")},
		"newest": {python: "python3", path: os.Getenv("GPUMEM_TEST_FRAMEWORKS")},
	} {
		cmd := exec.Command(how.python, "-c", "import numpy")
		cmd.Env = append(os.Environ(), "PYTHONPATH="+how.path)
		if (name == "system" || how.path != "") && cmd.Run() == nil {
			out[name] = how
		}
	}
	if len(out) == 0 {
		t.Skip("no NumPy here whose arrays could be sampled")
	}
	return out
}
