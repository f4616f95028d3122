// Package soft is the metal.Device that runs everywhere: kernels in Go on real
// memory of the host.
//
// It promises the memory behaviour of a real driver, not its speed. Buffers
// are anonymous mappings outside the Go heap, so a process's resident size
// moves when they are touched and falls when they are released or emptied.
// Committed work runs on the device's own goroutines, so it is really in
// flight. Each command buffer and encoder makes temporaries outside the Go
// heap that only an Autorelease scope frees, and each pipeline takes memory
// there until it is released. No counter of Usage sees either, nor does Metal's
// currentAllocatedSize.
//
// Faults and Leaks plant what goes wrong on real devices. The package knows
// metal and metal/kernels.
package soft
