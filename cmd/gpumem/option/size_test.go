package option

import "testing"

func TestByteSizesAreReadInTheUnitsPeopleWrite(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"0": 0, "4096": 4096, "1MiB": 1 << 20, "1 MB": 1 << 20, "1.5k": 1536, "2GiB": 2 << 30, "7B": 7,
	} {
		got, err := ParseSize(text)
		if err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "MiB", "-1", "1XB", "NaN", "9e30", "Inf"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("ParseSize(%q) = %d, want an error", text, got)
		}
	}
}
