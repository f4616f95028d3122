package shim

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Argument is one argument of a kernel in the source.
type Argument struct {
	Name   string
	Type   string // float, half, uchar, int
	Buffer bool   // memory, else a parameter
	Const  bool   // the kernel may only read it
}

// Signature is what a kernel's declaration says.
type Signature struct {
	Name string
	Args []Argument
	// Plane kernels have threads in two dimensions.
	Plane bool
}

// ErrSyntax is for source that is beyond this reader of declarations.
var ErrSyntax = errors.New("not understood")

const (
	kernelStart = "kernel void "
	indexed     = ` \[\[buffer\((\d+)\)\]\]$`
)

// The forms of an argument: memory, a parameter, the position in the grid.
var (
	bufferForm    = regexp.MustCompile(`^device (const )?(float|half|uchar)\* (\w+)` + indexed)
	parameterForm = regexp.MustCompile(`^constant (int|float)& (\w+)` + indexed)
	positionForm  = regexp.MustCompile(`^(uint|metal::uint2) \w+ \[\[thread_position_in_grid\]\]$`)
	attribute     = regexp.MustCompile(` ?\[\[[^\]]*\]\]`)
)

// Parse reads the declarations of all kernels. Errors match ErrSyntax and name
// the kernel.
func Parse(source string) ([]Signature, error) {
	var all []Signature
	for rest := source; ; {
		_, after, found := strings.Cut(rest, "\n"+kernelStart)
		if !found {
			return all, nil
		}
		declaration, body, found := strings.Cut(after, ") {\n")
		if !found {
			return nil, fmt.Errorf("kernel at %q: no body: %w", after[:min(len(after), 20)], ErrSyntax)
		}
		s, err := parseOne(declaration)
		if err != nil {
			return nil, err
		}
		all, rest = append(all, s), body
	}
}

func parseOne(declaration string) (Signature, error) {
	name, list, found := strings.Cut(declaration, "(")
	if !found {
		return Signature{}, fmt.Errorf("kernel %q: no arguments: %w", name, ErrSyntax)
	}
	s := Signature{Name: name}
	args := strings.Split(list, ",")
	for i, text := range args {
		text = strings.TrimSpace(text)
		if i == len(args)-1 {
			m := positionForm.FindStringSubmatch(text)
			if m == nil {
				return Signature{}, fmt.Errorf("kernel %s: last argument %q is no position: %w", name,
					text, ErrSyntax)
			}
			s.Plane = m[1] == "metal::uint2"
			break
		}
		a, index, ok := argument(text)
		if !ok || index != strconv.Itoa(i) {
			return Signature{}, fmt.Errorf("kernel %s: argument %d is %q: %w", name, i, text, ErrSyntax)
		}
		s.Args = append(s.Args, a)
	}
	return s, nil
}

func argument(text string) (a Argument, index string, ok bool) {
	if m := bufferForm.FindStringSubmatch(text); m != nil {
		return Argument{Name: m[3], Type: m[2], Buffer: true, Const: m[1] != ""}, m[4], true
	}
	if m := parameterForm.FindStringSubmatch(text); m != nil {
		return Argument{Name: m[2], Type: m[1], Const: true}, m[3], true
	}
	return Argument{}, "", false
}
