// Package ttmetal reads the shared memory in which programs with tt-metal's
// later memory tracking keep their books: one file a device,
// /dev/shm/tt_device_ASIC_memory, with totals, chips and processes. It took
// the place of the allocation server that tracer/ttmetal speaks for, is on by
// default there, and costs the programs 0.1 µs an allocation.
//
// The file has no lock: a sample may show one counter before and another after
// an allocation, but never half a number. The entries of processes that died
// stay until some program sweeps them; they are shown as dead. PIDs are those
// of the program's own namespace, so those of a container can look dead, or
// like somebody else's, from outside.
package ttmetal
