package firsttouch

import (
	"os"
	"testing"
	"time"
)

func TestStatIsReadPastAnyName(t *testing.T) {
	t.Parallel()
	tail := " S 1 1 1 0 -1 4194560 1000 5 20 7 1 2 3 4 20 0 3 0 100 200 300 18446744073709551615"
	for _, name := range []string{"(prog)", "(a) b) (c)", "(x\ny)"} {
		s, ok := parseSnapshot([]byte("42 " + name + tail))
		if !ok || s.faults != 1020 || s.resident != 300 || s.busy != 30*time.Millisecond {
			t.Errorf("%q: %+v, %v", name, s, ok)
		}
	}
	for _, bad := range []string{"", "42 (prog) S 1",
		"42 (prog) Z 1 1 1 0 -1 4194560 1000 5 20 7 1 2 3 4 20 0 3 0 100 200 300", "42 prog"} {
		if _, ok := parseSnapshot([]byte(bad)); ok {
			t.Errorf("%q is no running process", bad)
		}
	}
	if s, err := takeSnapshot(os.Getpid()); err != nil || s.faults == 0 || s.resident == 0 {
		t.Errorf("our own: %+v, %v", s, err)
	}
}

func FuzzStat(f *testing.F) {
	f.Add([]byte("42 (prog) S 1 1 1 0 -1 4194560 1000 5 20 7 1 2 3 4 20 0 3 0 100 200 300"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, ok := parseSnapshot(b); ok && s.resident < 0 {
			t.Fatalf("impossible %+v", s)
		}
	})
}
