package appletest

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/selectors.tsv from the headers")

// The forms of metal-cpp: a function that sends one message, and the names of
// the selectors.
var (
	functionForm = regexp.MustCompile(`_INLINE ([^;{]*?)\(([^;{]*)\)(?: const)?\s*\{`)
	sendForm     = regexp.MustCompile(
		`sendMessage(?:Safe)?<([^;]*?)>\(([^;]*?),\s*_\w+_PRIVATE_SEL\((\w+)\)([^;]*)\);`)
	nameForm = regexp.MustCompile(`_PRIVATE_DEF_SEL\((\w+),\s*"([^"]+)"\)`)
)

// TestTheTableIsWhatAppleDeclares reads metal-cpp and compares.
func TestTheTableIsWhatAppleDeclares(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("GPUMEM_METAL_CPP")
	if dir == "" {
		t.Skip("GPUMEM_METAL_CPP names no folder with Apple's metal-cpp, which is not in this repository")
	}
	declared := declarations(t, dir)
	all, err := Shapes()
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range all {
		made, ok := declared[s.Selector]
		if !ok {
			t.Errorf("%s is not in metal-cpp", s.Selector)
			continue
		}
		if !slices.Contains(made, s.String()) {
			t.Errorf("the table says %q, metal-cpp %q", s, made)
		}
		if len(made) == 1 && *update {
			parsed, err := parse(made[0])
			if err != nil {
				t.Fatal(err)
			}
			all[i] = parsed[0]
		}
	}
	if *update {
		writeTable(t, all)
	}
}

func writeTable(t *testing.T, all []Shape) {
	path := filepath.Join("testdata", "selectors.tsv")
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for line := range strings.Lines(string(old)) {
		if strings.HasPrefix(line, "#") {
			b.WriteString(line)
		}
	}
	for _, s := range all {
		b.WriteString(s.String() + "\n")
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// declarations are the shapes of every message that metal-cpp sends.
func declarations(t *testing.T, dir string) map[string][]string {
	t.Helper()
	var texts []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".hpp" {
			return err
		}
		text, err := os.ReadFile(path)
		texts = append(texts, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for _, text := range texts {
		for _, m := range nameForm.FindAllStringSubmatch(text, -1) {
			names[m[1]] = m[2]
		}
	}
	out := map[string][]string{}
	for _, text := range texts {
		for _, at := range sendForm.FindAllStringSubmatchIndex(text, -1) {
			group := func(i int) string { return text[at[2*i]:at[2*i+1]] }
			functions := functionForm.FindAllStringSubmatch(text[:at[0]], -1)
			name := names[group(3)]
			if len(functions) == 0 || name == "" {
				continue
			}
			line, err := declared(name, group(1), functions[len(functions)-1][2], group(4))
			if err == nil && !slices.Contains(out[name], line) {
				out[name] = append(out[name], line)
			}
		}
	}
	if len(out) < 500 {
		t.Fatalf("%s has %d messages: no metal-cpp, or another form of it", dir, len(out))
	}
	return out
}

// declared is the line of a message by its result, its function's parameters
// and the arguments that it passes on.
func declared(name, result, parameters, passed string) (string, error) {
	types := map[string]string{}
	for p := range strings.SplitSeq(parameters, ",") {
		p = strings.TrimSpace(p)
		i := strings.LastIndexAny(p, " *&")
		if i >= 0 {
			types[p[i+1:]] = strings.TrimSpace(p[:i+1])
		}
	}
	k, err := kindOf(result)
	if err != nil {
		return "", err
	}
	s := Shape{Selector: name, Result: k}
	for a := range strings.SplitSeq(passed, ",") {
		if a = strings.TrimSpace(a); a == "" {
			continue
		}
		k, err := kindOf(types[a])
		if err != nil {
			return "", err
		}
		s.Args = append(s.Args, k)
	}
	return s.String(), nil
}

// kindOf is the kind of a C++ type of metal-cpp.
func kindOf(t string) (Kind, error) {
	t = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(t), "const "))
	short := t
	if i := strings.LastIndex(t, "::"); i >= 0 {
		short = t[i+2:]
	}
	switch {
	case strings.HasSuffix(t, "**"):
		return ErrorOut, nil
	case t == "void*" || t == "char*":
		return Pointer, nil
	case strings.HasSuffix(t, "*"):
		return Object, nil
	}
	if k, ok := map[string]Kind{
		"void": Void, "bool": Bool, "SEL": Sel, "UInteger": Unsigned, "uint64_t": Unsigned, "Integer": Signed,
		"Size":  Size,
		"Range": Pair, "SizeAndAlign": Pair, "double": Double, "CFTimeInterval": Double,
		// Enumerations and options, by what they stand on.
		"ResourceOptions": Unsigned, "PurgeableState": Unsigned, "StorageMode": Unsigned,
		"HazardTrackingMode": Unsigned,
		"StringEncoding":     Unsigned, "CommandBufferStatus": Unsigned, "MathMode": Signed,
		"GPUFamily": Signed,
	}[short]; ok {
		return k, nil
	}
	return 0, fmt.Errorf("type %q: %w", t, ErrTable)
}
