package capture

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// inlinedProgram compiles the chain of inlined functions.
func inlinedProgram(t testing.TB, name string, flags ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no C compiler (gcc)")
	}
	path := filepath.Join(t.TempDir(), name)
	tool(t, "gcc", append(append([]string{"-O2", "-Wl,--build-id=sha1"}, flags...), "-o", path, "testdata/inlined.c")...)
	return path
}

func tool(t testing.TB, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
}

// callOffset is where in the file the call of driver stands.
func callOffset(t testing.TB, path string) uint64 {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	var outer, driver elf.Symbol
	for _, s := range list {
		switch s.Name {
		case "outer":
			outer = s
		case "driver":
			driver = s
		}
	}
	text := f.Section(".text")
	code, err := text.Data()
	if err != nil {
		t.Fatal(err)
	}
	for at := outer.Value; at+4 < outer.Value+outer.Size; at++ {
		b := code[at-text.Addr:]
		to := at + 5 + uint64(int64(int32(f.ByteOrder.Uint32(b[1:]))))
		if f.Machine == elf.EM_X86_64 && b[0] == 0xe8 && to == driver.Value {
			return at + 4 - text.Addr + text.Offset // in the call, as the byte before its return address is
		}
		if word := f.ByteOrder.Uint32(b); f.Machine == elf.EM_AARCH64 && at%4 == 0 && word>>26 == 0x25 &&
			at+uint64(int64(int32(word<<6)>>6)*4) == driver.Value {
			return at + 3 - text.Addr + text.Offset
		}
	}
	t.Fatal("outer does not call driver")
	return 0
}

// placeOf is how one place of a file is named.
func placeOf(path string, offset uint64) string {
	return nameOffsets(os.Getpid(), path, []uint64{offset}, nil, maxInlined)[offset]
}

const inlinedPlace = "testdata/inlined.c:14 wrapper, inlined into testdata/inlined.c:21 middle, " +
	"inlined into testdata/inlined.c:27 outer"

func TestAPlaceHasItsLineAndTheFunctionsThatItWasInlinedInto(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{
		"DWARF 5": {"-gdwarf-5"}, "DWARF 4": {"-gdwarf-4"}, "not moved": {"-g", "-no-pie"},
		"compressed": {"-g", "-gz=zlib"}, "compressed as of old": {"-g", "-gz=zlib-gnu"},
	} {
		path := inlinedProgram(t, "program", flags...)
		if got := placeOf(path, callOffset(t, path)); got != inlinedPlace {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestDebuggingInformationIsFoundInAFileApart(t *testing.T) {
	t.Parallel()
	path := inlinedProgram(t, "program", "-g")
	offset := callOffset(t, path)
	dir := filepath.Dir(path)
	apart := filepath.Join(dir, ".debug", "program.debug")
	if err := os.Mkdir(filepath.Dir(apart), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	id := buildIDOf(f)
	f.Close()
	tool(t, "objcopy", "--only-keep-debug", path, apart)
	tool(t, "objcopy", "--strip-all", "--add-gnu-debuglink="+apart, path)
	if got := placeOf(path, offset); got != inlinedPlace {
		t.Errorf("linked by name: %q", got)
	}
	root := t.TempDir()
	byID := filepath.Join(root, "usr/lib/debug/.build-id", id[:2], id[2:]+".debug")
	if err := os.MkdirAll(filepath.Dir(byID), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(apart, byID); err != nil {
		t.Fatal(err)
	}
	if f, err = elf.Open(path); err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d := debugFile(f, path, []string{root})
	if d == nil || linesOf(f, d) == nil {
		t.Fatal("not found by its build id")
	}
	d.Close()
	other := inlinedProgram(t, "other", "-g", "-O1") // of another build, under the name that is asked for
	if err := os.Rename(other, apart); err != nil {
		t.Fatal(err)
	}
	want := "program+0x"
	if got := placeOf(path, offset); !strings.HasPrefix(got, want) || !strings.Contains(got, "(build id "+id+")") {
		t.Errorf("with the information of another build: %q", got)
	}
}

func TestWithoutDebuggingInformationAPlaceIsAnOffsetAndASymbol(t *testing.T) {
	t.Parallel()
	path := inlinedProgram(t, "program")
	if got := placeOf(path, callOffset(t, path)); !strings.HasPrefix(got, "program+0x") ||
		!strings.HasSuffix(got, " outer") {
		t.Errorf("%q", got)
	}
}

func TestAPlaceOfABuildIsLookedForOnce(t *testing.T) {
	t.Parallel()
	path := inlinedProgram(t, "program", "-g")
	offset := callOffset(t, path)
	var kept places
	first := nameOffsets(os.Getpid(), path, []uint64{offset}, &kept, maxInlined)[offset]
	tool(t, "objcopy", "--strip-debug", path) // and the build id stays
	if again := nameOffsets(os.Getpid(), path, []uint64{offset}, &kept,
		maxInlined)[offset]; first != inlinedPlace || again != first {
		t.Errorf("%q, then %q", first, again)
	}
}

// FuzzLinesOfAnyFile reads debugging information that was changed at one place.
func FuzzLinesOfAnyFile(f *testing.F) {
	path := inlinedProgram(f, "program", "-g")
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	offset := callOffset(f, path)
	f.Add(uint32(0), uint64(0))
	f.Add(uint32(len(whole)/2), uint64(1<<63))
	f.Fuzz(func(t *testing.T, at uint32, change uint64) {
		broken := append([]byte(nil), whole...)
		for i := range 8 {
			broken[(int(at)+i)%len(broken)] ^= byte(change >> (8 * i))
		}
		to := filepath.Join(t.TempDir(), "broken")
		if err := os.WriteFile(to, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if text := placeOf(to, offset); len(text) > 2*maxName {
			t.Errorf("a name of %d bytes", len(text))
		}
		if took := time.Since(begin); took > time.Minute {
			t.Errorf("it took %v", took)
		}
	})
}
