package books

import (
	"strings"
	"testing"
)

func TestABarHasTheColorOfItsLevelOnATerminalOnly(t *testing.T) {
	t.Parallel()
	for used, want := range map[uint64]string{74: "\x1b[32m", 75: "\x1b[33m", 89: "\x1b[33m", 90: "\x1b[31m",
		200: "\x1b[31m"} {
		k := Kind{Name: "DRAM", Used: used, Capacity: 100}
		if got := kindText(&k, true); !strings.Contains(got, want) {
			t.Errorf("%d %%: %q", used, got)
		}
		if got := kindText(&k, false); strings.Contains(got, "\x1b") || strings.Count(got, "█")+
			strings.Count(got, "░") != 25 {
			t.Errorf("without color: %q", got)
		}
	}
}
