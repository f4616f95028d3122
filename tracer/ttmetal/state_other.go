//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package ttmetal

import (
	"errors"
	"fmt"
)

// state is not there on this system.
type state struct{ heap }

func openState(path string, _ func(string)) (*state, error) {
	return nil, fmt.Errorf("%s: mapped files: %w", path, errors.ErrUnsupported)
}

func (*state) restore(*Registry) error { return nil }
func (*state) replace() error          { return nil }
func (*state) close() error            { return nil }
