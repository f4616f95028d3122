package plain

import (
	"strings"
	"testing"
	"time"
)

func TestTablesStayAlignedWithWideCharacters(t *testing.T) {
	t.Parallel()
	table := NewTable(Left("NAME").AtMost(8), Right("EMPTY"), Right("SIZE"), Left("WHAT"))
	table.Add("ana", "", "1 B", "x")
	table.Add("漢字漢字漢字", "", "1000 B", strings.Repeat("長い", 60))
	table.Add("e\u0301te", "", "–", "combining")
	var b strings.Builder
	table.Write(&b, "  ")
	checkLines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(checkLines) != 4 || strings.Contains(checkLines[0], "EMPTY") {
		t.Fatalf("got\n%s", b.String())
	}
	for _, line := range checkLines {
		before, _, _ := strings.Cut(line, " B")
		if Cells(line) > Width {
			t.Errorf("%d columns: %s", Cells(line), line)
		}
		if strings.Contains(line, " B") && Cells(before) != len("  ########  1000") {
			t.Errorf("not aligned: %q ends at %d", before, Cells(before))
		}
	}
}

func TestLongSentencesAreWrappedAndLongWordsCut(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	Wrap(&b, "note: ", "      ", strings.Repeat("word ", 40)+strings.Repeat("x", 300))
	for line := range strings.Lines(b.String()) {
		if n := Cells(strings.TrimSuffix(line, "\n")); n > Width {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.Contains(b.String(), "…") || !strings.HasPrefix(b.String(), "note: word") {
		t.Errorf("got\n%s", b.String())
	}
}

func TestSizesAndAgesAreShort(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int64]string{
		-1: "–", 0: "0 B", 1023: "1023 B", 1024: "1 KiB", 1048064: "1.00 MiB", 10 << 20: "10.0 MiB",
		1 << 62: "4 EiB",
	} {
		if got := Size(bytes); got != want {
			t.Errorf("Size(%d) = %q, want %q", bytes, got, want)
		}
	}
	for age, want := range map[time.Duration]string{
		-1: "–", 0: "0s", 59 * time.Second: "59s", 90 * time.Minute: "1h", 49 * time.Hour: "2d",
		800 * 24 * time.Hour: "2y",
	} {
		if got := Age(age); got != want {
			t.Errorf("Age(%v) = %q, want %q", age, got, want)
		}
	}
}
