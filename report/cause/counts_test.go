package cause

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// A count of six digits without separators takes counting to read.
func TestCountsInCausesHaveSeparators(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	bare := regexp.MustCompile(`%\.0f( %%)?`)
	for _, name := range files {
		if regexp.MustCompile(`_test\.go$`).MatchString(name) {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range bare.FindAllString(string(text), -1) {
			if found == "%.0f" { // a share in per cent has no thousands
				t.Errorf("%s prints a count without separators: units.Whole does", name)
			}
		}
	}
}
