package export

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/gpumem/gpumem/report/peak"
	"github.com/gpumem/gpumem/report/verdict"
)

// Of is which memory of a profiled window a format shows.
type Of string

// The values of Of. The zero value leaves it to the format.
const (
	OfPeak   Of = "peak"   // what lived at the peak
	OfWindow Of = "window" // all that the window's steps allocated, freed or not
)

// errNoWindow is why a format that is about a window has nothing to write.
func errNoWindow() error {
	return fmt.Errorf("%w: the run has no profiled window; record one with gpumem run --profile", ErrNothing)
}

// partsOf is the memory of a window that was asked for.
func partsOf(p *peak.Peak, of Of) []peak.Part {
	if of == OfWindow {
		return p.Allocated()
	}
	return p.AtPeak()
}

// framesOf are the frames below the category: the module of the model, if it is known,
// then the stack.
func framesOf(part *peak.Part) []string {
	if part.Module == "" {
		return part.Stack
	}
	return append([]string{"module " + part.Module}, part.Stack...)
}

// writeFolded writes folded stacks, the form of flame graphs: category;module;outermost
// frame;…;innermost frame bytes.
func writeFolded(w io.Writer, v *verdict.Verdict, of Of) error {
	if v.Peak == nil {
		return errNoWindow()
	}
	out := bufio.NewWriter(w)
	// A semicolon would end a frame, and a line break the stack.
	plain := strings.NewReplacer(";", ",", "\n", " ", "\r", " ")
	for _, part := range partsOf(v.Peak, of) {
		out.WriteString(plain.Replace(bounded(part.Category)))
		for _, frame := range framesOf(&part) {
			out.WriteString(";" + plain.Replace(bounded(frame)))
		}
		fmt.Fprintf(out, " %d\n", part.Bytes)
	}
	return out.Flush()
}
