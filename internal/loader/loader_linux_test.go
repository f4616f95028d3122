//go:build (amd64 || arm64) && !nodl

package loader_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/internal/loader"
	"github.com/gpumem/gpumem/internal/loader/standin"
)

const source = `int answer(void) { static int n = 41; return ++n; }`

func TestTheFirstCandidateThatOpensIsTaken(t *testing.T) {
	t.Parallel()
	path := standin.Build(t, "libanswer.so", []byte(source), nil, nil)
	other := standin.Copy(t, path)
	l, err := loader.Open(filepath.Join(t.TempDir(), "missing.so"), path, other)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	o, err := loader.Open(other)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	call := func(l loader.Library) uintptr {
		r, _ := loader.Call(l.Lookup("answer"))
		return r
	}
	if a, b := call(l), call(l); a != 42 || b != 43 {
		t.Errorf("%d and %d, want 42 and 43", a, b)
	}
	if n := call(o); n != 42 {
		t.Errorf("the copy says %d: it is no library of its own", n)
	}
	if p := l.Lookup("question"); p != 0 {
		t.Errorf("a symbol that is not there has the address %#x", p)
	}
}

func TestTheErrorIsThatOfTheFirstCandidate(t *testing.T) {
	t.Parallel()
	l, err := loader.Open("libfirst-missing.so.1", "libsecond-missing.so.1")
	if err == nil || !strings.Contains(err.Error(), "libfirst-missing.so.1") ||
		strings.Contains(err.Error(), "second") {
		t.Errorf("%v", err)
	}
	if p := l.Lookup("printf"); p != 0 {
		t.Errorf("no library has the symbol printf at %#x", p)
	}
	l.Close()
}
