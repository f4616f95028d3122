//go:build unix

package ttmetal

import (
	"os/exec"
	"path/filepath"
	"testing"
)

func TestAClientInCWithTheStructOfVersionOneIsServed(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "client")
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler (cc): the C client cannot be built")
	}
	if out, err := exec.Command(cc, "-Wall", "-Werror", "-o", program,
		filepath.Join("testdata", "client.c")).CombinedOutput(); err != nil {
		t.Fatalf("build the client: %v\n%s", err, out)
	}
	var out screen
	s := serve(t, Options{Out: &out, Processes: System{}}) // its PID is checked
	got, err := exec.Command(program, s.o.Socket).Output()
	if err != nil {
		t.Fatalf("the client ends with %v", err)
	}
	if want := "4 3 0 0\n4 3 4096 512\n4 3 0 512\n"; string(got) != want {
		t.Errorf("the client reads\n%s\nwant\n%s", got, want)
	}
	if s.Counts().Lies != 0 || s.Books().Live() != 1 {
		t.Errorf("%+v, %d buffers", s.Counts(), s.Books().Live())
	}
	s.Sweep()
	out.awaits(t, "✓ Removed 1 buffers (0.000 MB) from PID")
	if s.Books().Live() != 0 {
		t.Error("the buffer of the dead client stays")
	}
}
