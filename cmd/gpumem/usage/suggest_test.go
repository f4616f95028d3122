package usage

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
		if got := Suggest(name, known); got != want {
			t.Errorf("Suggest(%q) = %q, want %q", name, got, want)
		}
	}
}
