package workloads

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/gpumem/gpumem/workloads/gguf"
)

// modelRefused is why the file of --model does not run, and what to try.
func modelRefused(path string, err error) error {
	var reason *fs.PathError
	if errors.As(err, &reason) {
		return fmt.Errorf("--model %s: %w: give the path of a GGUF file, or no --model for the built-in twin",
			path, reason.Err)
	}
	var format *gguf.FormatError
	if errors.As(err, &format) {
		return fmt.Errorf("--model %s: %w: give a whole file that a converter to GGUF wrote", path, format)
	}
	return fmt.Errorf("--model %s: %w", path, err)
}
