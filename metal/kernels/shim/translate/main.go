// Command translate writes kernels.metal as C++ into a folder, with the header
// that it includes: kernels.cu for clang's CUDA mode, kernels.cc for a
// processor.
package main

import (
	"fmt"
	"os"

	"github.com/gpumem/gpumem/metal/kernels"
	"github.com/gpumem/gpumem/metal/kernels/shim"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "translate:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: translate DIR; got %d arguments", len(args))
	}
	return shim.Write(args[0], kernels.MetalSource())
}
