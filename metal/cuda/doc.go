// Package cuda is the metal.Device of NVIDIA GPUs, on the driver API alone: no
// toolkit, no cgo. The library is loaded when a device is opened; where it is
// missing, Open says so in one line.
//
// What Metal and CUDA do differently:
//
//   - Buffers are the device's own memory, so that Contents is nil and ReadAt
//     and WriteAt copy. They come from a memory pool that belongs to the Device,
//     in units of PageSize; AllocatedSize is what the pool charges for them. The
//     pool takes memory from the driver in blocks of megabytes: what NVML charges
//     the process beyond the buffers is the rest of these blocks (Reserved tells
//     the sum) and the context, whose size is constant and which counts as
//     untracked. Drivers without memory pools give each buffer by cuMemAlloc.
//   - Release gives memory back to the driver, beyond Options.KeepBytes, as soon
//     as the device has nothing else to do: a run of releases is one trim.
//   - An emptied buffer has no memory until it is next used; then it gets some
//     anew, and that may fail. One that work in flight uses is emptied when that
//     work has completed.
//   - A Queue is a stream. Work is launched by the Device's own OS thread, on
//     which its context is current, and its completion is polled there with
//     pauses that grow to 50 µs. A kernel's arguments are checked before the
//     launch; parameters that lie in buffers are read then, which waits for the
//     work before them.
//   - There are no autoreleased temporaries: Autorelease runs its function and
//     nothing else.
//   - An error of a running kernel spoils the whole context: all later calls
//     return an error that matches ErrLost.
//
// The kernels are the PTX of package kernels, compiled by the driver for the
// device when it is opened, and one of them is run, so that the driver has taken
// what it takes once before a program's growth is looked at.
package cuda
