//go:build !linux

package probe

import "errors"

// Files is told on Linux only: elsewhere the footprint that the system tells has what a
// process changed of files in it.
func (p *Process) Files(bool, int64) (MappedFiles, error) {
	return MappedFiles{}, errors.ErrUnsupported
}

// ReadHeap is told on Linux only.
func (p *Process) ReadHeap() Heap { return UnknownHeap() }
