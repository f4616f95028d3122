//go:build unix

package report

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestAShellReadsTheLineAsTheWordsItWasMadeOf(t *testing.T) {
	t.Parallel()
	words := []string{
		"", "plain", "it's", "a b", "a  b", " a", "a\t\tb",
		"import time\n\nfor i in range(3):\n    print('%d' % i, \"x\\n\")", `\`, `a\0101b`, `C:\new`,
		"$HOME `id` $(id) \"!\" *?[a]", "-n", "ä – 界", "\x1b[31m\x07", "\u202egnp.exe", "\xff\xfe", "\u00a0x",
		"100%", "\n a", "a\r\nb",
	}
	line := shellLine(words)
	if got := clean(line, maxLine); got != line {
		t.Errorf("shown as %q, made as %q", got, line)
	}
	out, err := exec.Command("sh", "-c", `set -- `+line+`; printf '%s\0' "$@"`).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, line)
	}
	var got []string
	for _, w := range bytes.Split(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
		got = append(got, string(w))
	}
	if !slices.Equal(got, words) {
		t.Errorf("%q, want %q", got, words)
	}
	if strings.Contains(shellLine([]string{"a b", `C:\new`}), "printf") {
		t.Error("what can be read as it is was escaped")
	}
}

func TestLineEndsAtTheEndOfAWordAreReproduced(t *testing.T) {
	t.Parallel()
	for _, words := range [][]string{
		{"a\n"}, {"\n"}, {"a\n\n\n", "b"}, {"a", "b\n", ""}, {"it's\n", `C:\new`, "$HOME \"x\"\n", "\x1b[31m",
			"\xff\n"}, {"a\n", "end\\"},
	} {
		line := shellLine(append([]string{"printf", `%s\0`}, words...))
		if got := clean(line, maxLine); got != line {
			t.Errorf("shown as %q, made as %q", got, line)
		}
		out, err := exec.Command("sh", "-c", line).Output()
		if want := strings.Join(words, "\x00") + "\x00"; err != nil || string(out) != want {
			t.Errorf("%s\n%q, %v, want %q", line, out, err, want)
		}
	}
}
