// Package standin builds stand-ins for libraries of drivers and systems out of
// C, so that tests of what calls them run on machines without. A stand-in reads
// what to say from a file beside it, of the same name with ".conf" behind it, and
// can have functions of its own for a test to ask. It needs a C compiler: cc, or
// what the variable CC names.
package standin

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/gpumem/gpumem/internal/loader"
)

// Build compiles a source into a library of that file name, in a folder of the
// test, has it say the lines of conf and returns its path.
func Build(tb testing.TB, fileName string, source []byte, flags, conf []string) string {
	tb.Helper()
	if testing.Short() {
		tb.Skip("the quick lane leaves this to the whole")
	}
	library := filepath.Join(tb.TempDir(), fileName)
	if err := os.WriteFile(library+".c", source, 0o600); err != nil {
		tb.Fatalf("write the stand-in's source: %v", err)
	}
	args := append(flags[:len(flags):len(flags)], "-O1", "-Wall", "-shared", "-fPIC", "-o", library,
		library+".c", "-ldl")
	if out, err := exec.Command(cmp.Or(os.Getenv("CC"), "cc"), args...).CombinedOutput(); err != nil {
		tb.Fatalf("build the stand-in (needs a C compiler): %v\n%s", err, out)
	}
	Write(tb, library, conf...)
	return library
}

// Copy copies a stand-in into a folder of the test, has it say the lines of conf
// and returns its path. A loader takes each copy for another library, with a
// state of its own.
func Copy(tb testing.TB, library string, conf ...string) string {
	tb.Helper()
	code, err := os.ReadFile(library)
	if err != nil {
		tb.Fatalf("read the stand-in: %v", err)
	}
	out := filepath.Join(tb.TempDir(), filepath.Base(library))
	if err := os.WriteFile(out, code, 0o700); err != nil {
		tb.Fatalf("copy the stand-in: %v", err)
	}
	Write(tb, out, conf...)
	return out
}

// Write replaces what a stand-in says, at once for one that reads it again.
func Write(tb testing.TB, library string, conf ...string) {
	tb.Helper()
	next := library + ".new"
	err := os.WriteFile(next, fmt.Appendln(nil, strings.Join(conf, "\n")), 0o600)
	if err == nil {
		err = os.Rename(next, library+".conf")
	}
	if err != nil {
		tb.Fatalf("write what the stand-in says: %v", err)
	}
}

// Ask calls a function that a stand-in has for tests, with a word, and returns
// what it answers. A loader has each file once, so this is the state of whoever
// else loaded it; it stays loaded from then on. A function that takes no word
// ignores it.
func Ask(tb testing.TB, library, function, word string) int64 {
	tb.Helper()
	l, err := loader.Open(library)
	if err != nil {
		tb.Fatalf("ask the stand-in: %v", err)
	}
	f := l.Lookup(function)
	if f == 0 {
		tb.Fatalf("ask the stand-in: it has no %s", function)
	}
	text := append([]byte(word), 0)
	n, _ := loader.Call(f, uintptr(unsafe.Pointer(&text[0])))
	return int64(n)
}
