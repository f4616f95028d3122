package main

import "testing"

func TestTheNearestNameIsSuggested(t *testing.T) {
	t.Parallel()
	known := []string{"nqueens", "modelload", "xor", "sine"}
	for name, want := range map[string]string{
		"nqueen":    `; did you mean "nqueens"?`,
		"modellaod": `; did you mean "modelload"?`,
		"sin":       `; did you mean "sine"?`,
		"model":     `; did you mean "modelload"?`,
		"python":    "; one of nqueens, modelload, xor, sine",
	} {
		if got := suggest(name, known); got != want {
			t.Errorf("suggest(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestByteSizesAreReadInTheUnitsPeopleWrite(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"0": 0, "4096": 4096, "1MiB": 1 << 20, "1 MB": 1 << 20, "1.5k": 1536, "2GiB": 2 << 30, "7B": 7,
	} {
		got, err := parseByteSize(text)
		if err != nil || got != want {
			t.Errorf("parseByteSize(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "MiB", "-1", "1XB", "NaN", "9e30", "Inf"} {
		if got, err := parseByteSize(text); err == nil {
			t.Errorf("parseByteSize(%q) = %d, want an error", text, got)
		}
	}
}
