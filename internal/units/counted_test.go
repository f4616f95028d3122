package units

import "testing"

func TestANumberWithItsNounHasSeparators(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 rows", 1: "1 row", 999: "999 rows", 124434: "124,434 rows"} {
		if got := Counted(n, "row", "rows"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
