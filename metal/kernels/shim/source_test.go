package shim_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/metal/kernels"
	"github.com/gpumem/gpumem/metal/kernels/shim"
)

func TestTheMetalSourceHasTheKernelsOfTheTable(t *testing.T) {
	t.Parallel()
	all, err := shim.Parse(kernels.MetalSource())
	if err != nil {
		t.Fatal(err)
	}
	want := kernels.All()
	if len(all) != len(want) {
		t.Errorf("the source has %d kernels, the table %d", len(all), len(want))
	}
	for i, s := range all[:min(len(all), len(want))] {
		k := want[i]
		if s.Name != k.Name {
			t.Fatalf("kernel %d is %s in the source, %s in the table", i, s.Name, k.Name)
		}
		if plane := strings.HasPrefix(k.Grid, "("); s.Plane != plane {
			t.Errorf("kernel %s: its grid is %q, two dimensions in the source: %v", k.Name, k.Grid, s.Plane)
		}
		if len(s.Args) != len(k.Args) {
			t.Errorf("kernel %s has %d arguments in the source, %d in the table", k.Name, len(s.Args),
				len(k.Args))
			continue
		}
		for j, a := range k.Args {
			if want := asArgument(a); s.Args[j] != want {
				t.Errorf("kernel %s: argument %d is %+v in the source, %+v by the table", k.Name, j,
					s.Args[j], want)
			}
		}
	}
}

// asArgument is how the source must declare an argument of the table.
func asArgument(a kernels.Arg) shim.Argument {
	w := shim.Argument{Name: a.Name, Type: "float", Buffer: a.Kind.IsBuffer(), Const: !a.Kind.Writes()}
	switch {
	case a.Kind == kernels.Int32:
		w.Type = "int"
	case a.Elem == kernels.F16:
		w.Type = "half"
	case a.Elem == kernels.Bytes:
		w.Type = "uchar"
	}
	return w
}

func TestDeclarationsBeyondTheReaderAreNamed(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]string{
		"no body":      "\nkernel void one(uint i [[thread_position_in_grid]])",
		"no position":  "\nkernel void one(device float* x [[buffer(0)]]) {\n",
		"no arguments": "\nkernel void one ) {\n",
		"an index twice": "\nkernel void one(device float* x [[buffer(0)]], device float* y " +
			"[[buffer(0)]], uint i [[thread_position_in_grid]]) {\n",
		"an unknown type": "\nkernel void one(device double* x [[buffer(0)]], uint i " +
			"[[thread_position_in_grid]]) {\n",
		"without an index":  "\nkernel void one(device float* x, uint i [[thread_position_in_grid]]) {\n",
		"a parameter value": "\nkernel void one(int n [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n",
	} {
		_, err := shim.Parse(source)
		if !errors.Is(err, shim.ErrSyntax) || !strings.Contains(err.Error(), "one") {
			t.Errorf("%s: error %v, want one that names the kernel", name, err)
		}
		if err := shim.Write(t.TempDir(), source); !errors.Is(err, shim.ErrSyntax) {
			t.Errorf("%s: written: %v", name, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(kernels.MetalSource())
	f.Add(
		"\nkernel void a(device const half* x [[buffer(0)]], metal::uint2 g [[thread_position_in_grid]]) " +
			"{\n}")
	f.Fuzz(func(t *testing.T, source string) {
		all, err := shim.Parse(source)
		if err != nil && !errors.Is(err, shim.ErrSyntax) {
			t.Errorf("error %v is no syntax error", err)
		}
		for _, s := range all {
			for _, a := range s.Args {
				if a.Name == "" || a.Type == "" || !a.Buffer && !a.Const {
					t.Errorf("kernel %q has the argument %+v", s.Name, a)
				}
			}
		}
	})
}

var entryForm = regexp.MustCompile(`\.visible \.entry (\w+)\(([^)]*)\)`)

// TestThePTXHasAnEntryForEachKernel checks names and the sizes of parameters:
// with a wrong one the driver would read another argument.
func TestThePTXHasAnEntryForEachKernel(t *testing.T) {
	t.Parallel()
	entries := map[string]string{}
	for _, m := range entryForm.FindAllStringSubmatch(kernels.PTX(), -1) {
		entries[m[1]] = m[2]
	}
	if len(entries) != len(kernels.All()) {
		t.Errorf("%d entries, %d kernels", len(entries), len(kernels.All()))
	}
	for _, k := range kernels.All() {
		params, ok := entries[kernels.EntryPrefix+k.Name]
		if !ok {
			t.Errorf("kernel %s has no entry", k.Name)
			continue
		}
		var have, want []string
		for line := range strings.SplitSeq(strings.TrimSpace(params), "\n") {
			have = append(have, strings.Fields(line)[1])
		}
		for _, a := range k.Args {
			kind := ".u64"
			switch a.Kind {
			case kernels.Int32:
				kind = ".u32"
			case kernels.Float32:
				kind = ".f32"
			}
			want = append(want, kind)
		}
		if want = append(want, ".u32", ".u32"); !slices.Equal(have, want) {
			t.Errorf("entry of %s takes %v, want %v", k.Name, have, want)
		}
	}
}

// compilerOfTheFile is the clang that made the committed file.
const compilerOfTheFile = "14.0.6"

// TestThePTXIsWhatClangMakesOfTheSource makes the file again: the same bytes
// with the compiler that made it, with another one the same entries. Without
// any clang, only TestThePTXHasAnEntryForEachKernel looks at the file.
func TestThePTXIsWhatClangMakesOfTheSource(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	clang := newestClang()
	if clang == "" {
		t.Skip("no clang++ is installed; Debian: apt-get install clang-14")
	}
	version, err := exec.Command(clang, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "kernels.ptx")
	cmd := exec.Command("bash", filepath.Join("..", "..", "..", "scripts", "build_ptx.sh"), out)
	cmd.Env = append(os.Environ(), "CLANG="+clang)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build_ptx.sh with %s: %v\n%s", clang, err, text)
	}
	made, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(version), "version "+compilerOfTheFile) {
		if string(made) != kernels.PTX() {
			t.Error("kernels.ptx is not what kernels.metal gives; run scripts/build_ptx.sh")
		}
		return
	}
	t.Logf("%s is not version %s: only the entries are compared", clang, compilerOfTheFile)
	have, want := entryForm.FindAllString(string(made), -1), entryForm.FindAllString(kernels.PTX(), -1)
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Error("the entries differ")
	}
}

// newestClang is clang 14, or another that may be here.
func newestClang() string {
	for _, name := range []string{"clang++-14", "clang++-15", "clang++-16", "clang++-19", "clang++"} {
		if _, err := exec.LookPath(name); err == nil {
			return name
		}
	}
	return ""
}
