package appletest

import (
	"errors"
	"fmt"
	"strings"
)

// Shape is how a message is called, by Apple's published interface.
type Shape struct {
	Selector string
	Result   Kind
	Args     []Kind // without the receiver and the selector
}

// Kind is a type of the interface, as far as calling cares.
type Kind byte

// The kinds.
const (
	Void     Kind = 'v'
	Object   Kind = 'o'
	ErrorOut Kind = 'e' // where an NSError goes, may be null
	Sel      Kind = 'q'
	Unsigned Kind = 'u' // NSUInteger, uint64_t and the enumerations and options on them
	Signed   Kind = 'i' // NSInteger and the enumerations on it
	Bool     Kind = 'b'
	Pointer  Kind = 'p'
	Size     Kind = 's' // MTLSize, 24 bytes
	Pair     Kind = 'r' // 16 bytes: NSRange, MTLSizeAndAlign
	Double   Kind = 'd'
)

const (
	known = "voequibpsrd" // all kinds
	none  = "-"           // no arguments
)

// ErrTable is for a table that is not understood.
var ErrTable = errors.New("not understood")

// Shapes are the lines of testdata/selectors.tsv: selector, result, arguments.
// The facts are Apple's: metal-cpp 370.63 (Xcode 26; Apache License 2.0), whose
// functions each send one message; a test reads them again where
// GPUMEM_METAL_CPP names a folder with it.
func Shapes() ([]Shape, error) {
	table, err := sources.ReadFile("testdata/selectors.tsv")
	if err != nil {
		return nil, fmt.Errorf("read the table of selectors: %w", err)
	}
	return parse(string(table))
}

func parse(table string) ([]Shape, error) {
	var all []Shape
	for line := range strings.Lines(table) {
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) != 3 {
			return nil, fmt.Errorf("table of selectors: line %q: %w", line, ErrTable)
		}
		args := strings.TrimPrefix(fields[2], none)
		if len(fields[1]) != 1 || strings.Trim(fields[1]+args, known) != "" {
			return nil, fmt.Errorf("table of selectors: line %q: %w", line, ErrTable)
		}
		s := Shape{Selector: fields[0], Result: Kind(fields[1][0]), Args: []Kind(args)}
		if strings.Count(s.Selector, ":") != len(s.Args) {
			return nil, fmt.Errorf("table of selectors: %s with %d arguments: %w", s.Selector,
				len(s.Args), ErrTable)
		}
		all = append(all, s)
	}
	return all, nil
}

// String is the shape as a line of the table.
func (s Shape) String() string {
	args := string(kinds(s.Args))
	if args == "" {
		args = none
	}
	return s.Selector + "\t" + string(rune(s.Result)) + "\t" + args
}

func kinds(all []Kind) []byte {
	var b []byte
	for _, k := range all {
		b = append(b, byte(k))
	}
	return b
}

// header is the table for the fake.
func header(all []Shape) string {
	var b strings.Builder
	b.WriteString("struct shape {\n    const char *name;\n    char result;\n    const char *args;\n};\n")
	b.WriteString("static const struct shape shapes[] = {\n")
	for _, s := range all {
		fmt.Fprintf(&b, "    {%q, '%c', %q},\n", s.Selector, s.Result, kinds(s.Args))
	}
	b.WriteString("    {0, 0, 0},\n};\n")
	return b.String()
}
