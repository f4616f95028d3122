//go:build !linux

package tracer

// sharedMemory is what is known of segments of shared memory: not read on this system.
type sharedMemory struct{}

func newSharedMemory() *sharedMemory { return &sharedMemory{} }

func (*sharedMemory) follow(<-chan struct{}) {}

func (*sharedMemory) hadUnused() string { return "" }

func (*sharedMemory) left() string { return "" }
