//go:build !unix

package gguf

import (
	"errors"
	"os"
)

// mapFile maps nothing here: the file is read instead.
func mapFile(*os.File, int64) (memory []byte, release func() error, err error) {
	return nil, nil, errors.ErrUnsupported
}
