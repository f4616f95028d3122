// Package metal is a GPU device shaped after Apple's Metal: Device, Buffer,
// Queue, CommandBuffer, Encoder, Pipeline and purgeable state.
//
// It holds the interfaces, plain data, errors and the faults that a driver can
// plant; drivers live below it and share metal/internal/command:
// metal/soft runs everywhere on real host memory, metal/apple binds real
// Metal, metal/cuda NVIDIA's driver API. metal/kernels names the kernels and
// their arguments for all of them, metal/metaltest is the conformance suite
// that each driver passes.
//
// The interfaces follow Metal in what costs memory: buffers are rounded to
// pages, command buffers retain what is bound in them until they complete,
// and each command buffer and encoder makes autoreleased temporaries that go
// only when the enclosing Autorelease scope drains.
package metal
