//go:build !linux

package capture

import "fmt"

// Attach is for Linux.
func Attach(pid int) (*Reader, error) {
	return nil, fmt.Errorf("attach to process %d: %w", pid, ErrUnsupported)
}

// Attach is for Linux.
func (r *Reader) Attach(pid int) error {
	return fmt.Errorf("attach to process %d: %w", pid, ErrUnsupported)
}
