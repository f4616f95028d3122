// Package cuda is the metal.Device of NVIDIA GPUs, on the driver API alone: no
// toolkit, no cgo. The library is loaded when a device is opened; where it is
// missing, Open says so in one line.
//
// What Metal and CUDA do differently:
//
//   - Buffers are the device's own memory, so that Contents is nil and ReadAt
//     and WriteAt copy. AllocatedSize is what is asked of the driver. Those from
//     1 MiB on are allocations of their own, which the driver makes and takes
//     back in units of 2 MiB. Smaller ones come from a memory pool that belongs
//     to the Device and takes blocks of 32 MiB; the first block stays until
//     Close, Reserved tells the sum. What NVML charges the process beyond the
//     buffers is the rest of these units and the context, whose size is
//     constant: all of it counts as untracked. With drivers that have no pools
//     every buffer is an allocation of its own.
//   - Release returns when the memory is back with the driver, beyond
//     Options.KeepBytes; of several at once, the last one.
//   - An emptied buffer has no memory until it is next used; then it gets some
//     anew, and that may fail. One that work in flight uses is emptied when that
//     work has completed.
//   - A Queue is a stream. Work is launched by the Device's own OS thread, on
//     which its context is current, and its completion is polled there with
//     pauses that grow to 50 µs. A kernel's arguments are checked before the
//     launch; parameters in buffers that a kernel wrote are read then, which
//     waits for the work before them.
//   - There are no autoreleased temporaries: Autorelease runs its function and
//     nothing else.
//   - An error of a running kernel spoils the whole context: all later calls
//     return an error that matches ErrLost.
//
// The kernels are the PTX of package kernels, compiled by the driver for the
// device when it is opened, and one of them is run, so that the driver has taken
// what it takes once before a program's growth is looked at.
package cuda
