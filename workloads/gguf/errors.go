package gguf

import (
	"errors"
	"fmt"
)

// ErrFormat is matched by every error about the content of a file.
var ErrFormat = errors.New("not a valid GGUF file")

// FormatError says what is wrong in a file and where. It matches ErrFormat.
type FormatError struct {
	Offset int64 // bytes from the start of the file
	What   string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%v: at offset %d: %s", ErrFormat, e.Offset, e.What)
}

// Is reports that every FormatError is an ErrFormat.
func (e *FormatError) Is(target error) bool { return target == ErrFormat }

func formatErrorf(offset int64, format string, args ...any) error {
	return &FormatError{Offset: offset, What: fmt.Sprintf(format, args...)}
}
