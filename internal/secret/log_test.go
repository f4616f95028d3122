package secret

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLogsKeepTheirLengthAndLoseTheirSecrets(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	const token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
	text := "start\npushing to https://u:S3word@h/x\n" + token + "\npassword: kept, it may be anything\n"
	path := filepath.Join(t.TempDir(), "stdout.log")
	cases := []string{text, ""}
	for _, border := range []int{logPart, logPart - logOverlap, logPart - logOverlap/2} {
		for _, back := range []int{0, 1, 20, len(token), len(token) + 5} {
			cases = append(cases, text+strings.Repeat("x", border-len(text)-back-1)+"\n"+token+"\n"+
				strings.Repeat("y",
					logOverlap)+"\nend\n")
		}
	}
	for _, in := range cases {
		if err := os.WriteFile(path, []byte(in), 0o600); err != nil {
			t.Fatal(err)
		}
		n, partly, err := Overwrite(path)
		if err != nil || partly || n < strings.Count(in, token) {
			t.Fatalf("%d values, partly %v, %v", n, partly, err)
		}
		out, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.ReplaceAll(strings.ReplaceAll(in, token, strings.Repeat("*", len(token))), "S3word",
			"******")
		if string(out) != want {
			t.Errorf("%d bytes became %d; %.200q", len(in), len(out), out)
		}
		if n, _, err := Overwrite(path); n != 0 || err != nil {
			t.Errorf("masked once more: %d values, %v", n, err)
		}
	}
	if got := Line(text); strings.Contains(got, token) || !strings.Contains(got, "kept") {
		t.Errorf("%q", got)
	}
}
