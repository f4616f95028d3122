//go:build !linux

package probe

import "errors"

// Dirty is told on Linux only: elsewhere the footprint that the system tells has what a
// process changed of files in it.
func (p *Process) Dirty(bool) (bytes int64, shared bool, err error) {
	return Unknown, false, errors.ErrUnsupported
}
