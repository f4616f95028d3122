package appletest

import (
	"errors"
	"strings"
	"testing"
)

func TestTheTableIsReadAndWrittenAlike(t *testing.T) {
	t.Parallel()
	text, err := sources.ReadFile("testdata/selectors.tsv")
	if err != nil {
		t.Fatal(err)
	}
	all, err := Shapes()
	if err != nil {
		t.Fatal(err)
	}
	var again strings.Builder
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			again.WriteString(line)
		}
	}
	for _, s := range all {
		again.WriteString(s.String() + "\n")
	}
	if again.String() != string(text) {
		t.Errorf("written again the table is\n%s", again.String())
	}
}

func TestLinesThatAreNoShapeAreRefused(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"count", "count\tu", "count\tu\t-\tmore", "count\tz\t-", "count\tuu\t-",
		"count\t\t-", "at:\tu\t-", "at:\tu\tx", "count\tu\tu"} {
		if _, err := parse(line); !errors.Is(err, ErrTable) {
			t.Errorf("%q: error %v", line, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("# a comment\ncount\tu\t-\nobjectAtIndex:\to\tu\n")
	f.Fuzz(func(t *testing.T, table string) {
		all, err := parse(table)
		if err != nil {
			if !errors.Is(err, ErrTable) {
				t.Errorf("error %v is no error of the table", err)
			}
			return
		}
		for _, s := range all {
			again, err := parse(s.String())
			if err != nil || len(again) != 1 || again[0].String() != s.String() {
				t.Errorf("%q is read again as %v, %v", s, again, err)
			}
		}
	})
}
