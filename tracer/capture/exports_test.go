package capture

import (
	"debug/elf"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// exportsOf are the defined dynamic symbols with their versions, sorted.
func exportsOf(t *testing.T, path string) []string {
	t.Helper()
	var out []string
	for _, s := range symbolsOf(t, path) {
		if s.Section != elf.SHN_UNDEF && s.Section != elf.SHN_ABS {
			out = append(out, s.Name+"@"+s.Version)
		}
	}
	slices.Sort(out)
	return out
}

// needsOf are the versions of the C library that the file asks for.
func needsOf(t *testing.T, path string) []string {
	t.Helper()
	var out []string
	for _, s := range symbolsOf(t, path) {
		if s.Section == elf.SHN_UNDEF && strings.HasPrefix(s.Version, "GLIBC_") {
			out = append(out, s.Version)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func symbolsOf(t *testing.T, path string) []elf.Symbol {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	return symbols
}

func newerThan(a, b string) bool {
	var a1, a2, b1, b2 int
	fmt.Sscanf(a, "GLIBC_%d.%d", &a1, &a2)
	fmt.Sscanf(b, "GLIBC_%d.%d", &b1, &b2)
	return a1 > b1 || a1 == b1 && a2 > b2
}
