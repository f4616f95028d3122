package looks

import (
	"path"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/tracer/record"
)

// compilers are the programs that a framework starts to have code compiled for the device: CUDA's assembler,
// compiler and linker.
var compilers = []string{"ptxas", "nvcc", "cicc", "nvlink", "fatbinary"}

// Compilers are the seconds of the run at which a compiler for the device began, in their order.
func Compilers(p *series.Process) (began []float64) {
	for _, e := range p.Events.About(0) {
		command, _, _ := strings.Cut(e.Name, " ")
		if e.Kind == record.KindProcess && slices.Contains(compilers, path.Base(command)) {
			began = append(began, e.TMs/1000)
		}
	}
	slices.Sort(began)
	return began
}
