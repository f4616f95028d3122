package capture

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// pythons are the interpreters of this machine, and those that scripts/test.sh fetches.
func pythons(t *testing.T) []string {
	t.Helper()
	var out []string
	fetched, _ := filepath.Glob(filepath.Join(os.Getenv("GPUMEM_TEST_PYTHONS"), "3.*/bin/python3.?*"))
	for _, name := range append([]string{"python3", "python3-dbg"}, fetched...) {
		path, err := exec.LookPath(name)
		if err != nil || strings.HasSuffix(name, "-config") {
			continue
		}
		if path, err = filepath.EvalSymlinks(path); err == nil && !slices.Contains(out, path) {
			out = append(out, path)
		}
	}
	if len(out) == 0 {
		t.Skip("no python3 here to call the driver from")
	}
	return out
}

func TestACallFromPythonHasTheProgramsLine(t *testing.T) {
	t.Parallel()
	tools := build(t)
	files, err := filepath.Abs("../agent/python/files/lib")
	if err != nil {
		t.Fatal(err)
	}
	script, want, callers := callsOfPython(t)
	for _, python := range pythons(t) {
		t.Run(filepath.Base(python), func(t *testing.T) {
			t.Parallel()
			// Builds that were fetched have their libffi beside them.
			libraries := "LD_LIBRARY_PATH=" + string(tools) + ":" + filepath.Dir(filepath.Dir(python))
			e := run(t, launch{env: []string{libraries}, args: []string{python, script, files, t.TempDir()}})
			for range 2 * stuckPolls { // until the files are read to their end
				if err := e.reader.Poll(); err != nil {
					t.Fatal(err)
				}
			}
			got := map[string]record.Site{}
			for _, pid := range e.reader.PIDs() {
				for _, s := range e.reader.Sites(pid) {
					s.Bytes += got[s.Site].Bytes
					got[s.Site] = s
				}
			}
			for site, bytes := range want {
				if s := got[site]; s.Bytes != bytes || s.Caller != callers[site] {
					t.Errorf("%s holds %d bytes, called at %q, want %d, %q; all: %v", site, s.Bytes, s.Caller,
						bytes, callers[site], got)
				}
			}
			left, _ := filepath.Glob(filepath.Join(e.dir, "*"+linesSuffix))
			if len(left) != 0 {
				t.Errorf("files of lines stay: %v", left)
			}
		})
	}
}

// callsOfPython is the program that calls, the bytes that each of its lines takes, and the line that
// calls that one's function, if one does.
func callsOfPython(t *testing.T) (script string, want map[string]int64, callers map[string]string) {
	t.Helper()
	script, err := filepath.Abs("testdata/calls.py")
	if err != nil {
		t.Fatal(err)
	}
	want, callers = map[string]int64{}, map[string]string{}
	function := ""
	for i, line := range strings.Split(string(readFile(t, script)), "\n") {
		if m := regexp.MustCompile(`^def (\w+)\(`).FindStringSubmatch(line); m != nil {
			function = m[1]
		}
		if m := regexp.MustCompile(`# asks for (\d) MiB$`).FindStringSubmatch(line); m != nil {
			want[fmt.Sprintf("%s:%d %s", script, i+1, function)] = int64(m[1][0]-'0') << 20
		}
		if m := regexp.MustCompile(`# calls (\w+)$`).FindStringSubmatch(line); m != nil {
			for site := range want {
				if strings.HasSuffix(site, " "+m[1]) {
					callers[site] = fmt.Sprintf("%s:%d <module>", script, i+1)
				}
			}
		}
	}
	if len(want) != 5 || len(callers) != 4 {
		t.Fatalf("%d lines of testdata/calls.py say what they ask for, want 5; %d have a caller, want 4",
			len(want), len(callers))
	}
	return script, want, callers
}

func TestALineStandsBesideALibraryAndInPlaceOfAnAllocator(t *testing.T) {
	t.Parallel()
	const python, blas, torch, ffi = "/usr/bin/python3.11", "/usr/lib/libcublas.so.12", "/usr/lib/libc10_cuda.so",
		"/usr/lib/libffi.so.8"
	const line, beside = "train.py:88 forward", "native, called by train.py:88 forward"
	s, at := laidOut(python, blas, torch, ffi)
	engine, atEngine := laidOut("/opt/engine")
	for name, c := range map[string]struct {
		space *addressSpace
		pc    uint64
		want  string
	}{
		"an allocator":                {&s, at(torch), line},
		"ctypes":                      {&s, at(ffi), line},
		"a library":                   {&s, at(blas), beside},
		"a program with Python in it": {&engine, atEngine("/opt/engine"), beside},
		"code that lies in no file":   {&s, 1 << 40, line},
	} {
		if got := c.space.withLine("native", c.pc, line); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	for name, frames := range map[string]stack{
		"alone":         {lineMark | 3<<32 | 7},
		"behind others": {1, 2, lineMark | 3<<32 | 7},
		"the last":      {1, 2, 3, 4, 5, 6, 7, 8, lineMark | 3<<32 | 7},
	} {
		if line, caller := lineOf(frames); line != 7 || caller != 3 {
			t.Errorf("%s: the lines' numbers are not found", name)
		}
	}
	for _, frames := range []stack{{1, 2}, {}} {
		if line, caller := lineOf(frames); line != 0 || caller != 0 {
			t.Error("an address is taken for a line's number")
		}
	}
}

// FuzzLines holds that any text gives bounded lines without control characters.
func FuzzLines(f *testing.F) {
	f.Add("1 train.py:88 forward\n2 /a b/c.py:1 <module>\n")
	f.Add("x y\n\n3\n4 \x00\n99999999999 a\n")
	f.Fuzz(func(t *testing.T, text string) {
		lines := parseLines(strings.NewReader(text))
		if len(lines) > maxLines {
			t.Fatalf("%d lines", len(lines))
		}
		for _, text := range lines {
			if text == "" || len(text) > maxLineText || strings.ContainsAny(text, "\n\x00") {
				t.Fatalf("%q", text)
			}
		}
	})
}

// BenchmarkCallFromPython prints what the line of Python adds to a call, in turn.
func BenchmarkCallFromPython(b *testing.B) {
	build(b)
	files, _ := filepath.Abs("../agent/python/files/lib")
	script, _ := filepath.Abs("testdata/callcost.py")
	for range b.N {
		cmd := start(b, &launch{args: []string{"python3", script, files}})
		out, err := cmd.CombinedOutput()
		if err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		b.Logf("%s", out)
	}
}
